/** `1 entry`, `2 entries`; the plural is given where it is not the word and an s. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export const entries = (count: number) => counted(count, 'entry', 'entries')
