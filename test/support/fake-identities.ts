import { createHash } from 'node:crypto'
import { SesError } from './fake-ses-error.ts'

type Identity = {
  tokens: string[]
  keyLength: string
  mailFrom: string | null
  onMxFailure: string | null
  verified: boolean
  mailFromStatus: string
}

/** Domains in Amazon SES. The tests say when SES has seen the DNS records. */
export class FakeIdentities {
  readonly all = new Map<string, Identity>()

  create({
    EmailIdentity: name,
    DkimSigningAttributes,
  }: {
    EmailIdentity: string
    DkimSigningAttributes?: { NextSigningKeyLength?: string }
  }) {
    if (this.all.has(name)) throw new SesError(400, 'AlreadyExistsException', `Email identity ${name} already exist.`)
    const token = (part: number) => createHash('sha256').update(`${name}${part}`).digest('hex').slice(0, 32)
    this.all.set(name, {
      tokens: [1, 2, 3].map(token),
      keyLength: DkimSigningAttributes?.NextSigningKeyLength ?? 'RSA_1024_BIT',
      mailFrom: null,
      onMxFailure: null,
      verified: false,
      mailFromStatus: 'PENDING',
    })
    return { IdentityType: 'DOMAIN', VerifiedForSendingStatus: false, DkimAttributes: this.#dkim(name) }
  }

  get(name: string) {
    const { verified, mailFrom, mailFromStatus, onMxFailure } = this.#find(name)
    return {
      IdentityType: 'DOMAIN',
      VerifiedForSendingStatus: verified,
      VerificationStatus: verified ? 'SUCCESS' : 'PENDING',
      DkimAttributes: this.#dkim(name),
      ...(mailFrom && {
        MailFromAttributes: {
          MailFromDomain: mailFrom,
          MailFromDomainStatus: mailFromStatus,
          BehaviorOnMxFailure: onMxFailure,
        },
      }),
    }
  }

  setMailFrom(name: string, { MailFromDomain, BehaviorOnMxFailure }: Record<string, string>) {
    Object.assign(this.#find(name), { mailFrom: MailFromDomain, onMxFailure: BehaviorOnMxFailure })
    return {}
  }

  remove(name: string) {
    this.#find(name)
    this.all.delete(name)
    return {}
  }

  /** SES has found the DKIM records. */
  verify(name: string): void {
    Object.assign(this.#find(name), { verified: true, mailFromStatus: 'SUCCESS' })
  }

  #dkim(name: string) {
    const { tokens, verified, keyLength } = this.#find(name)
    return {
      SigningEnabled: true,
      Status: verified ? 'SUCCESS' : 'PENDING',
      Tokens: tokens,
      SigningAttributesOrigin: 'AWS_SES',
      NextSigningKeyLength: keyLength,
      CurrentSigningKeyLength: keyLength,
    }
  }

  #find(name: string): Identity {
    const found = this.all.get(name)
    if (!found) throw new SesError(404, 'NotFoundException', `Email identity ${name} does not exist.`)
    return found
  }
}
