import {
  actionOf,
  type Command,
  type Input,
  operator,
  reading,
  text,
  UsageError,
  writing,
} from '../../console/command.ts'
import { parseAddress } from '../../platform/text/addresses.ts'
import { DEFAULT_SES_NAME, SES_EVENTS_PATH, SES_NAME, sesNames } from './names.ts'

const WAIT = { seconds: 120, max: 3600 }

export const sesCommand: Command = {
  usage: [
    [
      'ses setup --url URL [OPTIONS]',
      'create what is missing in Amazon SES and SNS, and wait until a trial message has come back as an event',
    ],
  ],
  notes: ['Run again, it changes only what is missing. docs/ses.md has the permissions that it needs.'],
  words: 1,
  options: {
    url: { type: 'string', value: 'URL', help: 'the public address of this gateway, https://gateway.example.com' },
    region: { type: 'string', value: 'REGION', help: 'of Amazon SES; else the setting AWS_REGION' },
    name: {
      type: 'string',
      value: 'NAME',
      help: `of the configuration set and, with -events, the topic (${DEFAULT_SES_NAME})`,
    },
    from: {
      type: 'string',
      value: 'ADDRESS',
      help: 'a verified sender of the trial message; else the setting EMAIL_FROM',
    },
    wait: {
      type: 'string',
      value: 'SECONDS',
      help: `how long to wait for AWS at each of the two waits (${WAIT.seconds})`,
    },
    'dry-run': { type: 'boolean', help: 'print the steps and change nothing' },
    'skip-trial': { type: 'boolean', help: 'send no trial message' },
  },
  run({ words: [action], values }) {
    const act = actionOf(ACTIONS, action, 'ses')
    return act(values)
  },
}

const ACTIONS = {
  setup(values: Input['values']) {
    const wanted = wantedOf(values)
    return values['dry-run'] ? plan(wanted) : setUp(wanted)
  },
}

/** Loaded when used: the AWS SDK takes a third of a second. */
const parts = async () => {
  const { silenceAwsSdkWarning } = await import('../../settings/config.ts')
  silenceAwsSdkWarning()
  return import('./command-setup.ts')
}

const plan = reading(async (opened, wanted: ReturnType<typeof wantedOf>) => (await parts()).planSes(opened, wanted))
const setUp = writing(async (opened, wanted: ReturnType<typeof wantedOf>) =>
  (await parts()).setUpSes(opened, wanted, { performedBy: operator() }),
)

function wantedOf(values: Input['values']) {
  const name = text(values, 'name') ?? DEFAULT_SES_NAME
  if (!SES_NAME.test(name)) throw new UsageError('--name must have 1 to 50 letters, digits, - and _')
  const seconds = Number(text(values, 'wait') ?? WAIT.seconds)
  if (!(seconds >= 1 && seconds <= WAIT.max)) throw new UsageError(`--wait must be a number from 1 to ${WAIT.max}`)
  const from = text(values, 'from')
  if (from !== undefined && !parseAddress(from).ok) throw new UsageError('--from must be an e-mail address')
  return {
    endpoint: endpointOf(text(values, 'url')),
    region: text(values, 'region'),
    names: sesNames(name),
    from,
    waitSeconds: seconds,
    trial: values['skip-trial'] !== true,
  }
}

/** Amazon SNS posts over https; http is for trials on this machine. */
function endpointOf(given: string | undefined): string {
  if (!given) throw new UsageError('--url is missing: the public address of this gateway')
  const url = URL.canParse(given) ? new URL(given) : null
  const local = url && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  const right = url && (url.protocol === 'https:' || (url.protocol === 'http:' && local))
  if (!right || url.username || url.search || url.hash)
    throw new UsageError(`--url must look like https://gateway.example.com, not "${given}"`)
  const base = url.href.replace(/\/+$/, '')
  return base.endsWith(SES_EVENTS_PATH) ? base : `${base}${SES_EVENTS_PATH}`
}
