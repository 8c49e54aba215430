/** A script of a view could not be fetched, in the words of Chromium, Firefox and Safari. */
const WORDS = /dynamically imported module|importing a module script failed|unable to preload/i

export const isChunkError = (error: unknown): boolean => error instanceof Error && WORDS.test(error.message)
