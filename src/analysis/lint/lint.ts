import type { Diagnostic, Severity } from '../../diagnostics/diagnostic.ts'
import { collector } from '../../diagnostics/report.ts'
import type { Model } from '../../model/model.ts'
import type { LintOptions } from './check.ts'
import type { Finding, Fix } from './finding.ts'
import { CHECKS } from './index.ts'
import { survey } from './survey.ts'

export type { Exposure, LintOptions } from './check.ts'
export type { Finding } from './finding.ts'

/** Everything that can be found in the policies of a Model without a request, ordered by place. */
export function lint(model: Model, options: LintOptions = {}): readonly Finding[] {
  const surveyed = survey(model)
  const { report, diagnostics } = collector()
  const fixes = new Map<string, Fix>()
  for (const check of CHECKS) {
    for (const { diagnostic, fix } of check(surveyed, options)) {
      report(diagnostic)
      if (fix !== undefined) fixes.set(identity(diagnostic), fix)
    }
  }
  return diagnostics().map((diagnostic) => {
    const fix = fixes.get(identity(diagnostic))
    return fix === undefined ? { diagnostic } : { diagnostic, fix }
  })
}

function identity({ code, message, origin, excerpt }: Diagnostic): string {
  return JSON.stringify([code, message, origin, excerpt?.start])
}

/** The lint codes of diagnostics that configuration readers report under codes of their own. */
const SAID_ELSEWHERE: Readonly<Record<string, readonly [code: string, severity?: Severity]>> = {
  PC0104: ['AZ005'],
  PC0107: ['AZ003'],
  PC0109: ['AZ011'],
  PC0110: ['AZ010'],
  PC0111: ['AZ019'],
  PC0311: ['AZ009'],
  PC0313: ['AZ008'],
  PC0314: ['AZ008'],
}

/**
 * Diagnostics of the source for the same file, as findings. The one that AZ009 also reports for the
 * Model is dropped, because it would be reported twice.
 */
export function asFindings(said: readonly Diagnostic[]): readonly Finding[] {
  return said.filter(({ code }) => code !== 'PC0311').map(asFinding)
}

/** The same for one, under the code by which comments suppress it. */
export function asFinding(diagnostic: Diagnostic): Finding {
  const [code = diagnostic.code] = SAID_ELSEWHERE[diagnostic.code] ?? []
  return { diagnostic: { ...diagnostic, code } }
}
