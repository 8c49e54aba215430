/** Written at every start, so that a new gateway version can change them. */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '256MB',
  jit: 'off',
  timezone: 'UTC',

  // An e-mail that was answered with 202 must survive a power cut.
  fsync: 'on',
  synchronous_commit: 'on',
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_compression: 'on',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',

  // No personal data in the log: no statements, no parameters, no DETAIL ("Key (email)=(…) already exists").
  log_destination: 'stderr',
  logging_collector: 'off',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_parameter_max_length_on_error: '0',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
}

export const SETTINGS_FILE = 'email-gateway.conf'

export function settingsText(port: number, overrides: Record<string, string> = {}): string {
  const lines = Object.entries({ ...SETTINGS, ...overrides, port: String(port) }).map(
    ([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`,
  )
  return `# Written by the gateway at every start of the server; put your own settings after the include in postgresql.conf.\n${lines.join('\n')}\n`
}
