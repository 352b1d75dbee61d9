import type { Diagnostic, Severity } from '../../diagnostics/diagnostic.ts'
import { collector } from '../../diagnostics/report.ts'
import type { Model } from '../../model/model.ts'
import type { LintOptions } from './check.ts'
import type { Finding, Fix } from './finding.ts'
import { CHECKS } from './index.ts'
import { survey } from './survey.ts'

export type { Exposure, LintOptions } from './check.ts'
export type { Finding } from './finding.ts'

/** All that can be said of the policies of a Model without a request, in the order of places. */
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

/** What readers of the configuration say under codes of their own, as the catalogue of lint has it. */
const SAID_ELSEWHERE: Readonly<Record<string, readonly [code: string, severity?: Severity]>> = {
  PC0104: ['AZ005'],
  PC0107: ['AZ003'],
  PC0109: ['AZ011'],
  PC0110: ['AZ010'],
  PC0111: ['AZ019'],
  PC0313: ['AZ008'],
  PC0314: ['AZ008'],
}

/**
 * What the source said of the same file, as findings. What AZ009 says of the Model is left out: it
 * would be told twice.
 */
export function asFindings(said: readonly Diagnostic[]): readonly Finding[] {
  return said
    .filter(({ code }) => code !== 'PC0311')
    .map((diagnostic) => {
      const [code = diagnostic.code] = SAID_ELSEWHERE[diagnostic.code] ?? []
      return { diagnostic: { ...diagnostic, code } }
    })
}
