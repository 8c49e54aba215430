/** The variable of the environment, or one sentence that says what is missing. */
export function needed(name) {
  const value = process.env[name]
  if (value) return value
  console.error(`${name} is not set: see examples/README.md.`)
  process.exit(1)
}
