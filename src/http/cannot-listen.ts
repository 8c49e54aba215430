/** The server cannot listen on HOST and PORT; `cause` is Node's error. */
export class CannotListen extends Error {
  override name = 'CannotListen'
}
