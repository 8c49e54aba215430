/** mailparser has no types of its own: as much of it as the tests look at. */
declare module 'mailparser' {
  type Addresses = { value: { address?: string; name: string }[]; text: string }
  type Attachment = {
    filename?: string
    contentType: string
    contentDisposition: string
    contentId?: string
    cid?: string
    related: boolean
    content: Buffer
  }
  export type ParsedMail = {
    subject?: string
    from?: Addresses
    to?: Addresses
    cc?: Addresses
    bcc?: Addresses
    replyTo?: Addresses
    messageId?: string
    date?: Date
    text?: string
    html: string | false
    headers: Map<string, unknown>
    headerLines: { key: string; line: string }[]
    attachments: Attachment[]
  }
  export function simpleParser(source: Buffer | string, options?: { skipImageLinks?: boolean }): Promise<ParsedMail>
}
