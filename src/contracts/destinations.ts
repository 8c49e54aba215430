/** The settings that decide where mail is sent. */
export type DestinationSettings = {
  EMAIL_PROVIDER: readonly string[]
  SMTP_URL?: string | undefined
  RESEND_BASE_URL?: string | undefined
  AWS_REGION?: string | undefined
  AWS_ENDPOINT_URL_SESV2?: string | undefined
}

/** Each provider with its endpoint, without credentials: `smtp@relay.example:587`, `ses@us-east-1`, `capture`. */
export function destinationsOf(settings: DestinationSettings): string[] {
  return settings.EMAIL_PROVIDER.map(entry => {
    const endpoint = endpointOf(entry, settings)
    return endpoint ? `${entry}@${endpoint}` : entry
  })
}

/** `smtp` of `smtp@relay.example:587`. */
export const providerNames = (destinations: readonly string[]): string[] => destinations.map(one => one.split('@')[0]!)

/** In capture mode nothing leaves the gateway and e-mails are still marked as sent, so real mail must not be captured by mistake. */
export const isCaptureOnly = (providers: readonly string[]): boolean => providers.includes('capture')

/** The setting in which two processes with different destinations differ. */
export function differingSetting(own: readonly string[], other: readonly string[]): string {
  const index = own.findIndex((one, i) => one !== other[i])
  if (index < 0 || providerNames(own).join() !== providerNames(other).join()) return 'EMAIL_PROVIDER'
  if (own[index]!.startsWith('smtp')) return 'SMTP_URL'
  if (own[index]!.startsWith('resend')) return 'RESEND_BASE_URL'
  const regionOf = (destination: string) => destination.split('/')[0]
  return regionOf(own[index]!) === regionOf(other[index]!) ? 'AWS_ENDPOINT_URL_SESV2' : 'AWS_REGION'
}

function endpointOf(entry: string, settings: DestinationSettings): string {
  const [name, region] = entry.split(':')
  switch (name) {
    case 'capture':
      return ''
    case 'smtp':
      return settings.SMTP_URL ? relayOf(settings.SMTP_URL) : ''
    case 'resend':
      return hostOf(settings.RESEND_BASE_URL)
    case 'ses':
      return sesEndpoint(region, settings)
    default:
      throw new Error(`Unknown provider ${entry}`)
  }
}

/** An entry such as ses:eu-west-1 contains its region. */
function sesEndpoint(named: string | undefined, settings: DestinationSettings): string {
  const region = named ? '' : (settings.AWS_REGION ?? '')
  const host = hostOf(settings.AWS_ENDPOINT_URL_SESV2)
  return host ? `${region}/${host}` : region
}

function relayOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname.toLowerCase()}:${port || (protocol === 'smtps:' ? 465 : 587)}`
}

const hostOf = (url: string | undefined) => (url ? new URL(url).host : '')
