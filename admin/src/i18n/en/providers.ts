export const providers = {
  title: 'Providers',
}
