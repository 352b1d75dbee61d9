import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

/** Classes of reused objects, and the fields that `reopen` does not reset. */
const REOPENED: readonly (readonly [file: string, left: readonly string[]])[] = [
  ['server-stream-state.ts', ['uses']],
  // `begin` reopens it when the stream has its ID.
  ['client-stream-state.ts', ['out', 'uses']],
  ['stream-output.ts', []],
  ['response-output.ts', []],
]
const FIELD = /^ {2}(?:protected )?(?<name>#?\w+)(?:: [^=(]+)?(?: = (?<initial>.+))?$/
const ASSIGNMENT = /^ {4}this\.(?<name>#?\w+) = (?<value>.+)$/

describe('a reused stream', () => {
  for (const [file, left] of REOPENED)
    it(`has nothing of the request before: ${file}`, () => {
      const source = readFileSync(new URL(file, import.meta.url), 'utf8').split('\n')
      const lines = source.slice(
        source.findIndex((line) => /^export (abstract )?class /.test(line)),
      )
      const fields = matches(lines, FIELD).filter(([name]) => !left.includes(name))
      const reset = new Map(matches(methodOf(lines, 'reopen'), ASSIGNMENT))
      assert.ok(fields.length > 3)
      for (const [name, initial] of fields) {
        assert.ok(reset.has(name), `${name} stays as it was`)
        // Values that the constructor gets as parameters are parameters of `reopen`, too.
        if (initial !== undefined) assert.equal(reset.get(name), initial, name)
      }
    })
})

function matches(lines: readonly string[], pattern: RegExp): [string, string | undefined][] {
  return lines.flatMap((line) => {
    const groups = pattern.exec(line)?.groups
    return groups?.name === undefined ? [] : [[groups.name, groups.initial ?? groups.value]]
  })
}

function methodOf(lines: readonly string[], name: string): readonly string[] {
  const start = lines.findIndex((line) => line.includes(` ${name}(`))
  return lines.slice(start, lines.indexOf('  }', start))
}
