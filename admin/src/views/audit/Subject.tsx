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

function SubjectLink({ entry, children }: { entry: AuditEntry; children: string }) {
  const { subjectType, subjectId } = entry
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
