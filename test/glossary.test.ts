import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { COMMANDS } from '../src/cli/index.ts'

const ROOT = join(import.meta.dirname, '..')

/** What users read first, and the texts of all commands. */
const PAGES = globSync(
  [
    'README.md',
    'docs/{README,cookbook/*,migrate/*,getting-started/*}.md',
    'docs/tasks/{install,debug-a-pod}.md',
    'charts/*/templates/NOTES.txt',
  ],
  { cwd: ROOT },
).sort()

/** Words that the field does not use, and what it says instead. */
const LEFT_OUT: readonly (readonly [RegExp, string])[] = [
  [/\boctets?\b/i, 'bytes'],
  [/\bwhoever\b/i, 'anyone who, clients, callers'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\b(is|are|be) told\b/i, 'is reported, is logged'],
  [/\b(is|are|be) asked\b/i, 'is evaluated, is called'],
  [/\blets? (pass|through)\b/i, 'allow, admit'],
  [/\bturn(s|ed)? away\b/i, 'reject, deny'],
  [/\brefuse[sd]?\b/i, 'reject, deny'],
  [/\bmay be left out\b/i, 'optional'],
  [/\bwithout a word\b/i, 'by default'],
]

function leftOutIn(text: string): readonly string[] {
  return text.split('\n').flatMap((line, index) =>
    LEFT_OUT.flatMap(([pattern, instead]) => {
      const [found] = pattern.exec(line) ?? []
      return found === undefined ? [] : [`line ${index + 1}: "${found}": say ${instead}`]
    }),
  )
}

describe('words', () => {
  for (const page of PAGES) {
    it(`${page} uses those of the field`, () => {
      assert.deepEqual(leftOutIn(readFileSync(join(ROOT, page), 'utf8')), [])
    })
  }

  for (const { name, summary, help } of COMMANDS) {
    it(`portcullis ${name} --help uses those of the field`, () => {
      assert.deepEqual(leftOutIn(`${summary}\n${help}`), [])
    })
  }

  it('finds one that is left out', () => {
    assert.deepEqual(leftOutIn('a\nWhoever asks is told.'), [
      'line 2: "Whoever": say anyone who, clients, callers',
      'line 2: "is told": say is reported, is logged',
    ])
  })
})
