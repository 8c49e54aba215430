export type Totals = Record<'accepted' | 'delivered' | 'bounced' | 'complained' | 'failed', number>
export type RateName = Exclude<keyof Totals, 'accepted'>

/** `of`: what the share is of. A null share: of nothing, or of less than the part, and the count says more. */
export type Rate = { name: RateName; of: 'recipients' | 'emails'; part: number; whole: number; share: number | null }

/**
 * Providers report about recipients, and one e-mail has several: their shares are of the recipients with a report. A part may be about
 * e-mails from before the range; and where no delivery is reported, as by most SMTP servers, a share of the bounces would be all of them.
 */
export function ratesOf({ accepted, delivered, bounced, complained, failed }: Totals): Rate[] {
  const reported = delivered > 0 ? delivered + bounced : 0
  return [
    rate('delivered', 'recipients', delivered, reported),
    rate('bounced', 'recipients', bounced, reported),
    rate('complained', 'recipients', complained, reported),
    rate('failed', 'emails', failed, accepted),
  ]
}

const rate = (name: RateName, of: Rate['of'], part: number, whole: number): Rate => ({
  name,
  of,
  part,
  whole,
  share: whole === 0 || part > whole ? null : part / whole,
})
