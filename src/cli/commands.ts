import { adminCommand } from './admin.ts'
import type { Command } from './command.ts'
import { companyCommand } from './company.ts'
import { dbCommand } from './db.ts'
import { demoCommand } from './demo.ts'
import { dlqCommand } from './dlq.ts'
import { doctorCommand } from './doctor.ts'
import { emailCommand } from './email.ts'
import { keyCommand } from './key.ts'
import { migrateCommand } from './migrate.ts'
import { personCommand } from './person.ts'
import { sendCommand } from './send.ts'
import { startCommand } from './start.ts'
import { statsCommand } from './stats.ts'
import { suppressionCommand } from './suppression.ts'
import { templateCommand } from './template.ts'
import { webhookCommand } from './webhook.ts'

export const COMMANDS: Record<string, Command> = {
  start: startCommand,
  migrate: migrateCommand,
  company: companyCommand,
  key: keyCommand,
  admin: adminCommand,
  send: sendCommand,
  email: emailCommand,
  dlq: dlqCommand,
  suppression: suppressionCommand,
  template: templateCommand,
  webhook: webhookCommand,
  person: personCommand,
  stats: statsCommand,
  doctor: doctorCommand,
  db: dbCommand,
  demo: demoCommand,
}
