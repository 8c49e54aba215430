import {
  CreateEmailIdentityCommand,
  DeleteEmailIdentityCommand,
  GetEmailIdentityCommand,
  type GetEmailIdentityCommandOutput,
  PutEmailIdentityMailFromAttributesCommand,
  type SESv2Client,
} from '@aws-sdk/client-sesv2'
import { type AwsOptions, named, orNull, withinTime } from '../aws.ts'
import { mailFromDomain, type ProviderDomain, type ProviderDomains, sesRecords } from '../domains.ts'
import { sesClient } from './setup.ts'

/** `place`: of this entry among those of SES in EMAIL_PROVIDER. */
type SesDomainsOptions = AwsOptions & { name: string; place: number }

export function sesDomains(options: SesDomainsOptions): ProviderDomains {
  const client = sesClient(options)
  const { region, place } = options
  return {
    name: options.name,
    async ensure(domain) {
      const found = await readIdentity(client, domain)
      if (!found) await createIdentity(client, domain)
      if (!found?.MailFromAttributes?.MailFromDomain)
        await setMailFrom(client, domain, mailFromDomain(domain, region, place))
      const identity = (await readIdentity(client, domain))!
      return { ...toDomain(domain, region, identity), created: found === null }
    },
    async check(domain) {
      const found = await readIdentity(client, domain)
      return found && toDomain(domain, region, found)
    },
    async remove(domain) {
      const command = new DeleteEmailIdentityCommand({ EmailIdentity: domain })
      await orNull('ses:DeleteEmailIdentity', () => client.send(command, withinTime()))
    },
    close: () => client.destroy(),
  }
}

export function readIdentity(
  client: SESv2Client,
  EmailIdentity: string,
): Promise<GetEmailIdentityCommandOutput | null> {
  return orNull('ses:GetEmailIdentity', () => client.send(new GetEmailIdentityCommand({ EmailIdentity }), withinTime()))
}

/** Easy DKIM: SES makes the keys and changes them by itself. */
async function createIdentity(client: SESv2Client, EmailIdentity: string): Promise<void> {
  const DkimSigningAttributes = { NextSigningKeyLength: 'RSA_2048_BIT' } as const
  const command = new CreateEmailIdentityCommand({ EmailIdentity, DkimSigningAttributes })
  await named('ses:CreateEmailIdentity', () => client.send(command, withinTime()))
}

/** Without its MX record SES uses a domain of its own, so mail is sent all the same. */
async function setMailFrom(client: SESv2Client, EmailIdentity: string, MailFromDomain: string): Promise<void> {
  const BehaviorOnMxFailure = 'USE_DEFAULT_VALUE'
  const command = new PutEmailIdentityMailFromAttributesCommand({ EmailIdentity, MailFromDomain, BehaviorOnMxFailure })
  await named('ses:PutEmailIdentityMailFromAttributes', () => client.send(command, withinTime()))
}

function toDomain(domain: string, region: string, identity: GetEmailIdentityCommandOutput): ProviderDomain {
  const { DkimAttributes, MailFromAttributes, VerifiedForSendingStatus } = identity
  return {
    verified: VerifiedForSendingStatus === true,
    status: `DKIM ${DkimAttributes?.Status ?? 'unknown'}, MAIL FROM ${MailFromAttributes?.MailFromDomainStatus ?? 'not set'}`,
    records: sesRecords({
      domain,
      region,
      dkimTokens: DkimAttributes?.Tokens ?? [],
      signingHostedZone: DkimAttributes?.SigningHostedZone,
      mailFrom: MailFromAttributes?.MailFromDomain ?? null,
    }),
  }
}
