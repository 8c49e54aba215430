/** libmime has no types of its own: what the gateway uses of it. */
declare module 'libmime' {
  const libmime: {
    /** A header value with parameters, also those of RFC 2231. */
    parseHeaderValue(text: string): { value: string; params: Record<string, string> }
    decodeFlowed(text: string, deleteSpaces: boolean): string
    detectExtension(contentType: string): string
  }
  export default libmime
}
