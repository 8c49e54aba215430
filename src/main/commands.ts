import type { Command } from '../console/command.ts'

/** The list of all commands needs no more than this; the module of a command is loaded when it is called. */
export type CommandEntry = { summary: string; load: () => Promise<Command> }

export const COMMANDS: Record<string, CommandEntry> = {
  start: {
    summary: 'run the gateway',
    load: async () => (await import('./start.ts')).startCommand,
  },
  migrate: {
    summary: 'apply the database migrations of this version',
    load: async () => (await import('./database-commands.ts')).migrateCommand,
  },
  company: {
    summary: 'create, list, update, pause and resume companies; give them access by SQL',
    load: async () => (await import('../companies/command.ts')).companyCommand,
  },
  key: {
    summary: 'create, list and revoke API keys',
    load: async () => (await import('../companies/command.ts')).keyCommand,
  },
  admin: {
    summary: 'add, list and remove administrators',
    load: async () => (await import('../admins/command.ts')).adminCommand,
  },
  send: {
    summary: 'accept one e-mail, as the API does',
    load: async () => (await import('../pipeline/accept/command.ts')).sendCommand,
  },
  email: {
    summary: 'list, show, explain, cancel, resend and resolve e-mails',
    load: async () => (await import('../emails/command.ts')).emailCommand,
  },
  dlq: {
    summary: 'list, show, replay, export and purge dead letters',
    load: async () => (await import('../dead-letters/command.ts')).dlqCommand,
  },
  suppression: {
    summary: 'check, add, remove, import and export suppressed addresses',
    load: async () => (await import('../suppression/command.ts')).suppressionCommand,
  },
  template: {
    summary: 'list, show, push and publish templates',
    load: async () => (await import('../templates/command.ts')).templateCommand,
  },
  webhook: {
    summary: 'list and test webhook endpoints',
    load: async () => (await import('../webhooks/command.ts')).webhookCommand,
  },
  person: {
    summary: 'erase a person, or export everything that is kept about one',
    load: async () => (await import('../people/command.ts')).personCommand,
  },
  stats: {
    summary: 'the KPIs of a range: delivered, how fast, recovered, failed',
    load: async () => (await import('../figures/command.ts')).statsCommand,
  },
  ses: {
    summary: 'connect the gateway to Amazon SES: configuration set, topic, events',
    load: async () => (await import('../providers/ses/command.ts')).sesCommand,
  },
  domain: {
    summary: 'add, list and check the sender domains of companies',
    load: async () => (await import('../domains/command.ts')).domainCommand,
  },
  ledger: {
    summary: 'accepted = ended + waiting + unknown, per company and day; names what was lost',
    load: async () => (await import('../ledger/command.ts')).ledgerCommand,
  },
  doctor: {
    summary: 'check settings, database, Redis, workers and providers',
    load: async () => (await import('../operations/doctor/command.ts')).doctorCommand,
  },
  db: {
    summary: 'a shell on the database, or its connection string',
    load: async () => (await import('./database-commands.ts')).dbCommand,
  },
  backup: {
    summary: 'write everything in the database to a file',
    load: async () => (await import('../operations/backup.ts')).backupCommand,
  },
  restore: {
    summary: 'fill a new database from such a file',
    load: async () => (await import('../operations/restore.ts')).restoreCommand,
  },
  demo: {
    summary: 'run a gateway with simulated providers and lively traffic, to look around',
    load: async () => (await import('../operations/demo/command.ts')).demoCommand,
  },
}
