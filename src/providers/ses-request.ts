import type { SendEmailCommandInput } from '@aws-sdk/client-sesv2'
import { bareAddress, composeMime, encodedAddress } from './mime.ts'
import type { OutgoingMessage } from './provider.ts'
import { providerTags } from './tags.ts'

/** SES builds simple messages itself; messages with attachments or custom headers are sent as MIME. */
export async function toSesRequest(
  message: OutgoingMessage,
  configurationSet: string | null,
): Promise<SendEmailCommandInput> {
  const plain = message.attachments.length === 0 && Object.keys(message.headers).length === 0
  return {
    ...(configurationSet && { ConfigurationSetName: configurationSet }),
    EmailTags: providerTags(message).map(({ name, value }) => ({ Name: name, Value: value })),
    ...(plain ? simple(message) : await raw(message)),
  }
}

function simple({ from, to, cc, bcc, replyTo, subject, html, text }: OutgoingMessage): SendEmailCommandInput {
  return {
    FromEmailAddress: encodedAddress(from),
    ...(replyTo.length > 0 && { ReplyToAddresses: replyTo.map(encodedAddress) }),
    Destination: {
      ToAddresses: to.map(encodedAddress),
      CcAddresses: cc.map(encodedAddress),
      BccAddresses: bcc.map(encodedAddress),
    },
    Content: {
      Simple: {
        Subject: utf8(subject),
        Body: { ...((text || html === null) && { Text: utf8(text) }), ...(html !== null && { Html: utf8(html) }) },
      },
    },
  }
}

/** Destination decides the recipients; display names are in the MIME headers. */
async function raw(message: OutgoingMessage): Promise<SendEmailCommandInput> {
  return {
    FromEmailAddress: encodedAddress(message.from),
    Destination: {
      ToAddresses: message.to.map(bareAddress),
      CcAddresses: message.cc.map(bareAddress),
      BccAddresses: message.bcc.map(bareAddress),
    },
    Content: { Raw: { Data: await composeMime(message) } },
  }
}

const utf8 = (text: string) => ({ Data: text, Charset: 'UTF-8' })
