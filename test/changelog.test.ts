import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** In the order of https://keepachangelog.com/en/1.1.0/. */
const KINDS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
const RELEASE = /^## (\d+)\.(\d+)\.(\d+) - (\d{4}-\d\d-\d\d)$/

/** The problems of a changelog, each with its line. */
function problemsOf(text: string): readonly string[] {
  const problems: string[] = []
  const said = (line: number, what: string) => problems.push(`line ${line + 1}: ${what}`)
  const lines = text.trimEnd().split('\n')
  let [before, date, kind, count] = [undefined as number[] | undefined, '9999', -1, 0]
  if (lines[0] !== '# Changelog') said(0, 'it does not begin with "# Changelog"')
  for (const [at, line] of lines.entries()) {
    if (line.startsWith('## ')) {
      count++
      kind = -1
      const [, ...parts] = RELEASE.exec(line) ?? []
      if (parts.length === 0) {
        if (line !== '## Unreleased' || count > 1) said(at, `"${line}" is no version with its date`)
        continue
      }
      const version = parts.slice(0, 3).map(Number)
      if (before !== undefined && !isOlder(version, before))
        said(at, 'the newest does not come first')
      if ((parts[3] ?? '') > date) said(at, 'its date is after that of a newer version')
      ;[before, date] = [version, parts[3] ?? '']
    } else if (line.startsWith('### ')) {
      const found = KINDS.indexOf(line.slice(4))
      if (count === 0) said(at, 'there is no version above it')
      if (found === -1) said(at, `"${line.slice(4)}" is none of ${KINDS.join(', ')}`)
      else if (found <= kind) said(at, `"${line.slice(4)}" is twice there, or in another order`)
      kind = Math.max(kind, found)
    } else if (/^#/.test(line) && at > 0) said(at, 'this heading has no meaning here')
    else if (count > 0 && line !== '' && kind === -1)
      said(at, 'this belongs below a kind of change')
    else if (kind >= 0 && line !== '' && !/^(- \S| {2}\S)/.test(line)) said(at, 'this is no entry')
  }
  return problems
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  const at = version.findIndex((part, index) => part !== than[index])
  return at >= 0 && (version[at] as number) < (than[at] as number)
}

describe('CHANGELOG.md', () => {
  const text = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')

  it('has the form of Keep a Changelog', () => assert.deepEqual(problemsOf(text), []))

  it('names no version that package.json has not reached', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const [, newest] = /^## (\d+\.\d+\.\d+)/m.exec(text) ?? []
    assert.ok(newest === undefined || newest === version, `${newest} and ${version}`)
  })

  for (const [what, wrong, problem] of [
    ['another title', '# Changes\n', /does not begin/],
    ['a version without a date', '# Changelog\n## 1.0.0\n', /no version with its date/],
    ['a kind of its own', '# Changelog\n## Unreleased\n### New\n', /none of Added/],
    ['kinds in another order', '# Changelog\n## Unreleased\n### Fixed\n### Added\n', /order/],
    ['text without a kind', '# Changelog\n## Unreleased\nsomething\n', /below a kind/],
    ['an entry that is none', '# Changelog\n## Unreleased\n### Added\nsomething\n', /no entry/],
    [
      'an older version first',
      '# Changelog\n## 1.0.9 - 2026-01-01\n## 1.0.10 - 2026-01-01\n',
      /newest does not come first/,
    ],
    [
      'dates that go back',
      '# Changelog\n## 1.1.0 - 2026-01-01\n## 1.0.0 - 2026-02-01\n',
      /after that of a newer/,
    ],
    [
      'what is not released below',
      '# Changelog\n## 1.0.0 - 2026-01-01\n## Unreleased\n',
      /no version/,
    ],
  ] as const) {
    it(`is rejected with ${what}`, () => assert.match(problemsOf(wrong).join('\n'), problem))
  }
})
