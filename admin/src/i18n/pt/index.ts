import { audit } from './audit.ts'
import { bulk } from './bulk.ts'
import { common } from './common.ts'
import { companies } from './companies.ts'
import { deadLetters } from './deadLetters.ts'
import { emails } from './emails.ts'
import { failures } from './failures.ts'
import { fields, fieldValues } from './fields.ts'
import { inbox } from './inbox.ts'
import { overview } from './overview.ts'
import { fieldLimits, fieldProblems, problems, templateRules } from './problems.ts'
import { providers } from './providers.ts'
import { sessions } from './sessions.ts'
import { signIn } from './signIn.ts'
import { suppression } from './suppression.ts'
import { templates } from './templates.ts'
import { webhooks } from './webhooks.ts'

/** One file for each view. */
export const pt = {
  audit,
  bulk,
  common,
  companies,
  deadLetters,
  emails,
  failures,
  fieldLimits,
  fieldProblems,
  fields,
  fieldValues,
  inbox,
  overview,
  problems,
  providers,
  sessions,
  signIn,
  suppression,
  templateRules,
  templates,
  webhooks,
}
