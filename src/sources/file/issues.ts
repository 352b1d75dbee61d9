import type * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { type IssueContext, wordIssues } from '../../reach/checks/issues.ts'
import type { SectionNode } from './section-node.ts'
import { foreignKey } from './unsupported-keys.ts'

/** Converts zod issues to diagnostics with positions in the file. */
export function diagnoseIssues(
  issues: readonly z.core.$ZodIssue[],
  context: Pick<IssueContext<SectionNode>, 'node' | 'schema' | 'furtherKeys'>,
): readonly Diagnostic[] {
  return wordIssues(issues, { ...context, foreignKey }).map(({ node, part, message }) =>
    node.diagnose(message, part),
  )
}
