export const companies = {
  title: 'Companies',
  company: 'Company',
  state: 'State',
  sent: 'Sent, 24 h',
  bounces: 'Bounces',
  complaints: 'Complaints',
  states: { active: 'Active', warned: 'Warned', paused: 'Paused' },
  empty: 'No companies yet',
  emptyHint: 'A company is created here or with this command; its API key is shown once.',
}
