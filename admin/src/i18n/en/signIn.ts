export const signIn = {
  title: 'Sign in',
  name: 'Name',
  password: 'Password',
  show: 'Show what I type',
  submit: 'Sign in',
  wrong: 'The name or the password is not right.',
  tooMany: 'Too many attempts. Wait a moment and try again.',
  again: 'Your session has ended. Sign in to go on where you were.',
  help: 'Administrators are created with “npx email-gateway admin create NAME”.',
}
