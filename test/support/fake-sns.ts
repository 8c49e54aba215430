import { randomUUID } from 'node:crypto'
import { confirmation, notification, type Signer } from './sns.ts'

type Subscription = { endpoint: string; protocol: string; arn: string | null; token: string }
type Topic = { attributes: Map<string, string>; subscriptions: Subscription[] }

export class SnsError extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const ACCOUNT = '123456789012'
const REGION = 'us-east-1'

/** Topics, their policies and subscriptions. Posts to the subscribers for real, and signs what it posts. */
export class FakeSns {
  readonly topics = new Map<string, Topic>()
  /** The status of each post so far, or the error. */
  readonly posts: (number | string)[] = []
  readonly #signer: Signer

  constructor(signer: Signer) {
    this.#signer = signer
  }

  call(action: string, form: URLSearchParams): string {
    const arn = form.get('TopicArn')!
    switch (action) {
      case 'ListTopics':
        return `<Topics>${[...this.topics.keys()].map(one => `<member><TopicArn>${one}</TopicArn></member>`).join('')}</Topics>`
      case 'CreateTopic':
        return `<TopicArn>${this.#create(form)}</TopicArn>`
      case 'GetTopicAttributes': {
        const entries = [...this.#topic(arn).attributes].map(
          ([key, value]) => `<entry><key>${key}</key><value>${escaped(value)}</value></entry>`,
        )
        return `<Attributes>${entries.join('')}</Attributes>`
      }
      case 'SetTopicAttributes':
        this.#topic(arn).attributes.set(form.get('AttributeName')!, form.get('AttributeValue')!)
        return ''
      case 'Subscribe':
        return `<SubscriptionArn>${this.#subscribe(arn, form)}</SubscriptionArn>`
      case 'ListSubscriptionsByTopic': {
        const members = this.#topic(arn).subscriptions.map(
          one =>
            `<member><SubscriptionArn>${one.arn ?? 'PendingConfirmation'}</SubscriptionArn><Owner>${ACCOUNT}</Owner><Protocol>${one.protocol}</Protocol><Endpoint>${one.endpoint}</Endpoint><TopicArn>${arn}</TopicArn></member>`,
        )
        return `<Subscriptions>${members.join('')}</Subscriptions>`
      }
      case 'ConfirmSubscription': {
        const found = this.#topic(arn).subscriptions.find(({ token }) => token === form.get('Token'))
        if (!found) throw new SnsError(400, 'InvalidParameter', 'Invalid token')
        found.arn ??= `${arn}:${randomUUID()}`
        return `<SubscriptionArn>${found.arn}</SubscriptionArn>`
      }
      default:
        throw new SnsError(400, 'InvalidAction', `${action} is not valid`)
    }
  }

  /** What SES does with an event: the policy of the topic has to let it. */
  publishFromSes(topicArn: string, configurationSet: string, message: object): void {
    const topic = this.topics.get(topicArn)
    const policy = JSON.parse(topic?.attributes.get('Policy') ?? '{"Statement":[]}')
    // biome-ignore lint/suspicious/noExplicitAny: a policy document
    const allows = policy.Statement.some((one: any) => {
      const { 'AWS:SourceAccount': account, 'AWS:SourceArn': source } = one.Condition?.StringEquals ?? {}
      return (
        one.Principal?.Service === 'ses.amazonaws.com' &&
        one.Action === 'sns:Publish' &&
        account === ACCOUNT &&
        source === `arn:aws:ses:${REGION}:${ACCOUNT}:configuration-set/${configurationSet}`
      )
    })
    if (!allows) return
    for (const { endpoint, arn } of topic!.subscriptions)
      if (arn) this.#post(endpoint, notification(message, { TopicArn: topicArn }), 'Notification')
  }

  #create(form: URLSearchParams): string {
    const arn = `arn:aws:sns:${REGION}:${ACCOUNT}:${form.get('Name')}`
    if (this.topics.has(arn)) return arn
    const owner = {
      Sid: '__default_statement_ID',
      Effect: 'Allow',
      Principal: { AWS: '*' },
      Action: ['SNS:Publish', 'SNS:Subscribe'],
      Resource: arn,
      Condition: { StringEquals: { 'AWS:SourceOwner': ACCOUNT } },
    }
    const attributes = new Map([['Policy', JSON.stringify({ Version: '2008-10-17', Statement: [owner] })]])
    const name = form.get('Attributes.entry.1.key')
    if (name) attributes.set(name, form.get('Attributes.entry.1.value')!)
    this.topics.set(arn, { attributes, subscriptions: [] })
    return arn
  }

  #topic(arn: string): Topic {
    const topic = this.topics.get(arn)
    if (!topic) throw new SnsError(404, 'NotFound', 'Topic does not exist')
    return topic
  }

  #subscribe(arn: string, form: URLSearchParams): string {
    const { subscriptions } = this.#topic(arn)
    const endpoint = form.get('Endpoint')!
    let found = subscriptions.find(one => one.endpoint === endpoint)
    if (!found) {
      found = { endpoint, protocol: form.get('Protocol')!, arn: null, token: randomUUID().replaceAll('-', '') }
      subscriptions.push(found)
    }
    if (!found.arn)
      this.#post(endpoint, confirmation({ TopicArn: arn, Token: found.token }), 'SubscriptionConfirmation')
    return found.arn ?? 'pending confirmation'
  }

  #post(endpoint: string, fields: Record<string, unknown>, type: string): void {
    fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': type },
      body: JSON.stringify(this.#signer.sign(fields, '2')),
    }).then(
      answer => this.posts.push(answer.status),
      error => this.posts.push(String(error)),
    )
  }
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
