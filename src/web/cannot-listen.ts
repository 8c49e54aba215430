export type PortSetting = 'PORT' | 'SMTP_INGRESS_PORT' | 'METRICS_PORT'

/** The server cannot listen on HOST and this port; `cause` is Node's error. */
export class CannotListen extends Error {
  override name = 'CannotListen'
  readonly setting: PortSetting

  constructor(setting: PortSetting, cause: Error) {
    super(cause.message, { cause })
    this.setting = setting
  }
}
