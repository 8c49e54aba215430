export const deadLetters = {
  title: 'Dead letters',
}
