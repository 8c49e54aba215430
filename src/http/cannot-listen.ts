/** HOST or PORT cannot be had. */
export class CannotListen extends Error {
  override name = 'CannotListen'
}
