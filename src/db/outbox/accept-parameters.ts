import type { Draft, DraftRecipientRecord, RequestToStore } from './draft.ts'

/** Tags hold no control character (contracts/send-body.ts), so this one separates them. */
const TAG_SEPARATOR = '\u001f'

/** `full`: something in the batch needs the full statement. Absent JSON keys are SQL nulls, and cost no bytes. */
export type AcceptParameters = { full: boolean; parameters: string[] }

/** The parameters of the accept statement: one JSON array of rows for each. `i` numbers the e-mails of the batch, `u` its requests. */
export function acceptParameters(requests: RequestToStore[]): AcceptParameters {
  const emails: object[] = []
  const addresses: object[] = []
  const rare = { recipientRecords: [] as object[], keys: [] as object[], files: [] as object[], extras: [] as object[] }
  requests.forEach((request, u) => {
    if (request.idempotency) rare.keys.push(keyRow(request, u))
    for (const draft of request.drafts) {
      const i = emails.length + 1
      emails.push(emailRow(draft, i, u, request.strict))
      addresses.push(...addressRows(draft, i))
      rare.extras.push(...extrasRows(draft, i))
      rare.files.push(...fileRows(draft, i))
      if (draft.recipientRecord) rare.recipientRecords.push(recipientRow(draft.recipientRecord, i, draft.companyId))
    }
  })
  const rareRows = [rare.recipientRecords, rare.keys, rare.files, rare.extras]
  const full = rareRows.some(rows => rows.length > 0)
  return { full, parameters: [emails, addresses, ...(full ? rareRows : [])].map(rows => JSON.stringify(rows)) }
}

/** The fields that every e-mail has, and those that are common. */
function emailRow(draft: Draft, i: number, u: number, strict: boolean): object {
  return {
    i,
    u,
    n: draft.index,
    strict,
    id: draft.outboxId,
    event_id: draft.eventId,
    company: draft.companyId,
    request: draft.requestId,
    external: draft.externalId ?? undefined,
    test: draft.test,
    sender: draft.from,
    subject: draft.subject ?? undefined,
    tags: draft.tags.join(TAG_SEPARATOR),
    priority: draft.priority,
    policy: draft.retryPolicy ?? undefined,
    unknown: draft.onUnknown,
    max: draft.maxAttempts,
    html: draft.html ?? undefined,
    proof: draft.htmlProof ?? undefined,
    body: draft.text ?? undefined,
    to_hash: draft.addresses[0]!.hash,
    // Not among the rare fields: at one in a hundred, most batches have one, and would need the full statement.
    trace: draft.traceparent ?? undefined,
  }
}

function addressRows({ addresses, companyId: company, test }: Draft, i: number): object[] {
  return addresses.map(({ kind, address, name, key, hash }, ordinal) => ({
    i,
    company,
    test: test || undefined,
    ordinal,
    kind,
    address,
    name: name ?? undefined,
    key,
    hash,
  }))
}

/** The fields that few e-mails have: none, or one row. */
function extrasRows(draft: Draft, i: number): object[] {
  const extras = {
    template: draft.template ?? undefined,
    template_version: draft.templateVersion ?? undefined,
    delay_ms: draft.delayMs ?? undefined,
    scheduled: draft.scheduledAt ?? undefined,
    reply_to: draft.replyTo ?? undefined,
    headers: draft.headers ?? undefined,
    variables: draft.variables ?? undefined,
    resend_of: draft.resendOf ?? undefined,
  }
  return Object.values(extras).some(value => value !== undefined) ? [{ i, ...extras }] : []
}

function fileRows({ attachments }: Draft, i: number): object[] {
  return attachments.map(({ filename, contentType: content_type, contentId: content_id, base64 }, ordinal) => ({
    i,
    ordinal,
    filename,
    content_type,
    content_id,
    base64,
  }))
}

function keyRow({ drafts, idempotency, refusedBefore }: RequestToStore, u: number): object {
  const { companyId: company, requestId } = drafts[0]!
  return { u, company, ...idempotency, answer: { requestId, refusedBefore } }
}

function recipientRow(record: DraftRecipientRecord, i: number, company: string): object {
  return {
    i,
    company,
    id: record.recipientId,
    must_exist: record.mustExist,
    identity: record.identity,
    external: record.externalId,
    doc_hash: record.cpfCnpjHash,
    doc_cipher: record.cpfCnpjCipher,
    razao_social: record.razaoSocial,
    nome: record.nome,
    email: record.email,
  }
}
