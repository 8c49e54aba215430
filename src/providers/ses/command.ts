import { command, operator, option, UsageError, withStorage, withStorageToRead } from '../../console/command.ts'
import { parseAddress } from '../../platform/text/addresses.ts'
import { DEFAULT_SES_NAME, SES_EVENTS_PATH, SES_NAME, sesNames } from './names.ts'

const WAIT = { seconds: 120, max: 3600 }

const options = {
  url: option.parsed('URL', 'the public address of this gateway, https://gateway.example.com', endpointOf),
  region: option.text('REGION', 'of Amazon SES; else the setting AWS_REGION'),
  name: option.parsed(
    'NAME',
    `of the configuration set and, with -events, the topic (${DEFAULT_SES_NAME})`,
    (given): string => {
      if (!SES_NAME.test(given)) throw new UsageError('--name must have 1 to 50 letters, digits, - and _')
      return given
    },
  ),
  from: option.parsed('ADDRESS', 'a verified sender of the trial message; else the setting EMAIL_FROM', given => {
    if (!parseAddress(given).ok) throw new UsageError('--from must be an e-mail address')
    return given
  }),
  wait: option.parsed('SECONDS', `how long to wait for AWS at each of the two waits (${WAIT.seconds})`, given => {
    const seconds = Number(given)
    if (!(seconds >= 1 && seconds <= WAIT.max)) throw new UsageError(`--wait must be a number from 1 to ${WAIT.max}`)
    return seconds
  }),
  'dry-run': option.flag('print the steps and change nothing'),
  'skip-trial': option.flag('send no trial message'),
}

const notes = ['Run again, it changes only what is missing. docs/ses.md has the permissions that it needs.']

export const sesCommand = command({ name: 'ses', notes, options }, action => ({
  setup: action(
    {
      form: '--url URL [OPTIONS]',
      what: 'create what is missing in Amazon SES and SNS, and wait until a trial message has come back as an event',
      options: ['name', 'wait', 'from', 'url', 'region', 'dry-run', 'skip-trial'],
      opens: 'nothing',
    },
    async ({ options }) => {
      const { url: endpoint = endpointOf(''), region, from, wait: waitSeconds = WAIT.seconds } = options
      const trial = !options['skip-trial']
      const wanted = { endpoint, region, names: sesNames(options.name), from, waitSeconds, trial }
      const { planSes, setUpSes } = await setupParts()
      if (options['dry-run']) return withStorageToRead(opened => planSes(opened, wanted))
      return withStorage(opened => setUpSes(opened, wanted, { performedBy: operator() }))
    },
  ),
}))

/** Loaded when used: the AWS SDK takes a third of a second. */
async function setupParts() {
  const { silenceAwsSdkWarning } = await import('../../settings/config.ts')
  silenceAwsSdkWarning()
  return import('./command-setup.ts')
}

/** Amazon SNS posts over https; http is for trials on this machine. */
function endpointOf(given: string): string {
  if (given === '') throw new UsageError('--url is missing: the public address of this gateway')
  const url = URL.canParse(given) ? new URL(given) : null
  const local = url && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  const right = url && (url.protocol === 'https:' || (url.protocol === 'http:' && local))
  if (!right || url.username || url.search || url.hash)
    throw new UsageError(`--url must look like https://gateway.example.com, not "${given}"`)
  const base = url.href.replace(/\/+$/, '')
  return base.endsWith(SES_EVENTS_PATH) ? base : `${base}${SES_EVENTS_PATH}`
}
