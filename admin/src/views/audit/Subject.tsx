import { IdText } from '../../components/IdText.tsx'
import { TextLink } from '../../components/links.tsx'
import type { AuditEntry } from './data.ts'
import { useAuditWords } from './words.ts'

/** What was changed, with a link where it has a view of its own. */
export function Subject({ entry, whole = false }: { entry: AuditEntry; whole?: boolean }) {
  const words = useAuditWords()
  const { subjectType, subjectId } = entry
  return (
    <span>
      <SubjectLink entry={entry}>{words.subject(subjectType)}</SubjectLink> <IdText id={subjectId} whole={whole} />
    </span>
  )
}

/** After these there is nothing to open. */
const GONE = ['TEMPLATE_DELETED', 'WEBHOOK_REMOVED']

function SubjectLink({ entry, children }: { entry: AuditEntry; children: string }) {
  const { subjectType, subjectId, action } = entry
  if (GONE.includes(action)) return <>{children}</>
  if (subjectType === 'suppression')
    return (
      <TextLink to="/suppression" search={{ open: subjectId }} size="sm">
        {children}
      </TextLink>
    )
  if (subjectType === 'template')
    return (
      <TextLink to="/templates/$templateId" params={{ templateId: subjectId }} size="sm">
        {children}
      </TextLink>
    )
  if (subjectType === 'webhook')
    return (
      <TextLink to="/webhooks/$webhookId" params={{ webhookId: subjectId }} size="sm">
        {children}
      </TextLink>
    )
  if (subjectType === 'email')
    return (
      <TextLink to="/emails/$outboxId" params={{ outboxId: subjectId }} size="sm">
        {children}
      </TextLink>
    )
  if (subjectType === 'company')
    return (
      <TextLink to="/companies/$companyId" params={{ companyId: subjectId }} size="sm">
        {children}
      </TextLink>
    )
  return <>{children}</>
}
