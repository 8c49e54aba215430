import { expect, test } from 'vitest'
import { SES_EVENT_TYPES, sesNames, topicParts } from './names.ts'
import {
  destinationOf,
  PUBLISH_SID,
  planSesSetup,
  policyWithPublish,
  publishStatement,
  type SesFound,
} from './setup.ts'

const TOPIC = 'arn:aws:sns:us-east-1:123456789012:email-gateway-events'
const right = { name: 'email-gateway', enabled: true, eventTypes: [...SES_EVENT_TYPES], topicArn: TOPIC }
const ALL: SesFound = {
  configurationSet: true,
  topicArn: TOPIC,
  publishAllowed: true,
  destinations: [right],
  subscription: 'confirmed',
  topicAccepted: true,
}
const plan = (change: Partial<SesFound>) =>
  planSesSetup({ ...ALL, ...change }, sesNames(), 'https://gateway.example.com/webhooks/ses').map(({ kind }) => kind)

test('nothing is planned where nothing is missing, and only what is missing otherwise', () => {
  expect(plan({})).toEqual([])
  expect(plan({ configurationSet: false, destinations: [] })).toEqual([
    'create-configuration-set',
    'create-event-destination',
  ])
  expect(plan({ publishAllowed: false })).toEqual(['allow-publish'])
  expect(plan({ topicAccepted: false })).toEqual(['accept-topic'])
  expect(plan({ subscription: 'none' })).toEqual(['subscribe'])
  expect(plan({ subscription: 'pending' })).toEqual(['subscribe'])
})

test('an event destination that is off, lacks a type or leads elsewhere is corrected', () => {
  for (const change of [{ enabled: false }, { eventTypes: ['BOUNCE'] }, { topicArn: 'arn:aws:sns:us-east-1:1:other' }])
    expect(plan({ destinations: [{ ...right, ...change }] })).toEqual(['update-event-destination'])
})

test('one of another name that publishes to the topic is taken, and one that does not is left alone', () => {
  expect(destinationOf({ ...ALL, destinations: [{ ...right, name: 'gateway' }] }, sesNames())?.name).toBe('gateway')
  const elsewhere = { ...right, name: 'metrics', topicArn: null }
  expect(plan({ destinations: [elsewhere] })).toEqual(['create-event-destination'])
})

test('the policy lets SES publish for this configuration set of this account, beside what is there', () => {
  const statement = publishStatement(TOPIC, 'email-gateway')
  expect(statement).toMatchObject({
    Principal: { Service: 'ses.amazonaws.com' },
    Condition: {
      StringEquals: {
        'AWS:SourceAccount': '123456789012',
        'AWS:SourceArn': 'arn:aws:ses:us-east-1:123456789012:configuration-set/email-gateway',
      },
    },
  })
  const owner = { Sid: 'owner', Effect: 'Allow' }
  const changed = policyWithPublish(JSON.stringify({ Version: '2008-10-17', Statement: owner }), statement)!
  expect(JSON.parse(changed).Statement).toEqual([owner, statement])
  // AWS may answer with another order of the keys.
  const { Sid, ...rest } = statement
  const reordered = JSON.stringify({ Statement: [{ ...rest, Sid }] })
  expect(policyWithPublish(reordered, statement)).toBeNull()
  const wider = JSON.stringify({ Statement: [{ ...statement, Condition: undefined }] })
  expect(JSON.parse(policyWithPublish(wider, statement)!).Statement).toEqual([statement])
  expect(Sid).toBe(PUBLISH_SID)
  expect(policyWithPublish(undefined, statement)).not.toBeNull()
})

test('the parts of an ARN are read in every partition', () => {
  expect(topicParts('arn:aws-cn:sns:cn-north-1:1:x')).toEqual({
    partition: 'aws-cn',
    region: 'cn-north-1',
    account: '1',
    topic: 'x',
  })
  expect(topicParts('arn:aws:sqs:us-east-1:1:x')).toBeNull()
})
