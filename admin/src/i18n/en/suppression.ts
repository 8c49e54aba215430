export const suppression = {
  title: 'Suppression',
}
