import { hashEmail } from '../contracts/hashing.ts'
import { WEBHOOK_EVENT_TYPES } from '../contracts/webhooks/events.ts'
import { listCompanies } from '../db/companies/companies.ts'
import { createKey, registerCompany } from '../db/companies/registration.ts'
import { ageDemoPause, ageDemoSetup, putDemoHistory, spreadDemoSuppressions } from '../db/demo.ts'
import type { Database } from '../db/pool.ts'
import { addSuppressions } from '../db/suppression/list.ts'
import { pauseManually } from '../feedback/reputation.ts'
import type { DemoClient } from './client.ts'
import { DEMO_COMPANIES, PAUSED_COMPANY } from './companies.ts'
import { OLD_LIST_DOMAIN, somebody } from './people.ts'
import type { DemoSender } from './traffic.ts'

/** About as many as the history has bounces and complaints. */
const SUPPRESSIONS = 6_000
const BY = 'demo'
/** Of what was sent. Those of the old list are above the limit of complaints, so that the company is warned. */
const RATES = { bounceRate: 0.006, complaintRate: 0.0002 }
const RATES_OF_OLD_LIST = { bounceRate: 0.02, complaintRate: 0.003 }

/** Companies with their history, and suppressions, unless they are there from an earlier run; and a key for each company. */
export async function seedDatabase(db: Database, pepper: string, random: () => number): Promise<DemoSender[]> {
  const known = new Map((await listCompanies(db.pool)).map(({ name, companyId }) => [name, companyId]))
  const senders: DemoSender[] = []
  for (const company of DEMO_COMPANIES) {
    const companyId = known.get(company.name)
    if (companyId) senders.push({ company, companyId, ...(await createKey(db.pool, pepper, { companyId, name: BY })) })
    else {
      const made = await registerCompany(db, pepper, { name: company.name, ...company.settings })
      await putDemoHistory(db.pool, {
        companyId: made.company.companyId,
        share: company.share,
        types: company.mail.map(mail => mail.templateType),
        ...(company.domain === OLD_LIST_DOMAIN ? RATES_OF_OLD_LIST : RATES),
      })
      senders.push({ company, companyId: made.company.companyId, apiKey: made.apiKey })
    }
  }
  if (known.size === 0) await seedSuppressions(db, senders, random)
  return senders
}

async function seedSuppressions(db: Database, senders: DemoSender[], random: () => number): Promise<void> {
  const entries = Array.from({ length: SUPPRESSIONS }, (_, n) => {
    const reason = n % 9 === 0 ? ('COMPLAINT' as const) : n % 5 === 0 ? ('MANUAL' as const) : ('HARD_BOUNCE' as const)
    return {
      companyId: reason === 'MANUAL' ? senders[n % senders.length]!.companyId : null,
      emailHash: hashEmail(somebody(random).email),
      reason,
      expiresInDays: reason === 'HARD_BOUNCE' ? 90 : 0,
      metadata: reason === 'HARD_BOUNCE' ? { diagnosticCode: 'smtp; 550 5.1.1 user unknown' } : {},
      performedBy: reason === 'MANUAL' ? 'admin' : BY,
      ...(reason === 'MANUAL' && { justification: 'Asked by phone for no more mail' }),
    }
  })
  await addSuppressions(db.pool, entries)
  await spreadDemoSuppressions(db.pool)
}

/** What the API makes: templates and webhook endpoints. A company is paused, so that its mail waits. */
export async function seedByApi(
  db: Database,
  senders: DemoSender[],
  client: DemoClient,
  endpointUrl: string,
): Promise<void> {
  for (const { company, apiKey } of senders) {
    for (const { templateType: type, subject, html } of company.mail)
      await client(apiKey, 'POST', '/v1/templates', { type, subject, html, publish: true })
    const path = company.name === 'Clínica Vida' ? '/badly' : '/well'
    await client(apiKey, 'POST', '/v1/webhooks', { url: endpointUrl + path, eventTypes: [...WEBHOOK_EVENT_TYPES] })
  }
  await ageDemoSetup(db.pool)
  const { companyId } = senders.find(({ company }) => company.name === PAUSED_COMPANY)!
  await pauseManually(db.pool, { companyId, reason: 'The invoice of October is open', performedBy: 'admin' })
  await ageDemoPause(db.pool, companyId)
}
