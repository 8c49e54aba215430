export const emails = {
  title: 'E-mails',
}
