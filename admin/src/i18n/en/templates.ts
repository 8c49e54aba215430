export const templates = {
  title: 'Templates',
}
