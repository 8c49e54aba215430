/** `1 lease`, `2 leases`; `many` for irregular plurals. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export const capitalised = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

export const entries = (count: number) => counted(count, 'entry', 'entries')
