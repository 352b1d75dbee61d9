import { readFileSync, writeFileSync } from 'node:fs'
import { type NamesRead, rejectedByOne } from '../analysis/diff/header-names.ts'
import { isEquivalent } from '../analysis/equivalence.ts'
import { locateFindings } from '../analysis/lint/finding.ts'
import { type LintOptions, lint } from '../analysis/lint/lint.ts'
import { suppress } from '../analysis/lint/suppress.ts'
import type { Places } from '../diagnostics/places.ts'
import { whyUnwritable } from '../diagnostics/system-error.ts'
import type { Model } from '../model/model.ts'
import { applyEdits, type Edit } from '../sources/file/edit.ts'
import { loadText } from '../sources/file/load.ts'
import type { Terminal } from './define.ts'
import { openVerdicts } from './verdicts.ts'

/** Removing one rule may make another one necessary, so rules are removed one by one. */
const MAX_ROUNDS = 1_000

/**
 * Fixes the file in place and returns a summary. A change is kept only if it is proven that the
 * file decides every request as before.
 */
export function fixFile(
  file: string,
  options: LintOptions,
  environment: Terminal['environment'],
): string {
  const load = (text: string) => loadText(text, file, { environment })
  const original = readFileSync(file, 'utf8')
  let text = original
  let loaded = load(text)
  let fixed = 0
  const rejected = new Set<string>()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { value: model } = loaded.result
    if (model === undefined) break
    const next = fixesFor(model, loaded.places, options, text, file).find(
      (edit) => !rejected.has(keyOf(edit)),
    )
    if (next === undefined) break
    const edited = applyEdits(text, [next])
    const following = load(edited.text)
    const after = edited.applied.length === 0 ? undefined : following.result.value
    if (after === undefined || !isEquivalent(model, after) || !readsSameHeaders(model, after)) {
      rejected.add(keyOf(next))
      continue
    }
    text = edited.text
    loaded = following
    fixed++
  }
  try {
    if (text !== original) writeFileSync(file, text)
  } catch (error) {
    return `${file}: nothing fixed: ${whyUnwritable(error)}\n`
  }
  const left = rejected.size === 0 ? '' : `, ${rejected.size} must be fixed manually`
  return `${file}: ${fixed} fixed${left}\n`
}

/** The headers that rules read determine which other headers may be sent with them. */
function readsSameHeaders(before: Model, after: Model): boolean {
  const [old, now] = [before, after].map((model) => {
    const verdicts = openVerdicts(model)
    verdicts.close()
    return verdicts.headersRead
  }) as [NamesRead, NamesRead]
  return rejectedByOne(old, now).length + rejectedByOne(now, old).length === 0
}

function fixesFor(
  model: Model,
  places: Places,
  options: LintOptions,
  text: string,
  file: string,
): readonly Edit[] {
  return suppress(locateFindings(places, lint(model, options)), text, file).flatMap(
    ({ fix }): Edit[] => {
      return fix?.at.kind === 'file' ? [{ ...fix, at: fix.at }] : []
    },
  )
}

function keyOf(edit: Edit): string {
  return JSON.stringify([edit.kind, edit.from, edit.at.line, edit.at.column])
}
