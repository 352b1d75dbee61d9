import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changesNoV8Flags } from './content-rules.ts'
import { readSources } from './read-sources.ts'
import { except, renderViolation } from './rule.ts'
import { EXCEPTIONS } from './table.ts'

const linesOf = (files: Readonly<Record<string, string>>) =>
  changesNoV8Flags(Object.entries(files).map(([path, text]) => ({ path, text }))).map(
    ({ path, line }) => `${path}:${line}`,
  )

describe('V8 flags belong to the start of a process', () => {
  it('a call that changes them is reported with its line and what to do instead', () => {
    const text = "import { setFlagsFromString } from 'node:v8'\nsetFlagsFromString('--expose-gc')"
    const reported = changesNoV8Flags([{ path: 'src/cli/a.ts', text }]).map(renderViolation)
    const rest = "changes V8's flags while it runs: pass them to the process that starts"
    assert.deepEqual(reported, [
      `src/cli/a.ts:1: setFlagsFromString ${rest}`,
      `src/cli/a.ts:2: setFlagsFromString ${rest}`,
    ])
  })

  for (const [title, text] of [
    ['in a string', "v8['setFlagsFromString']('--no-turbofan')"],
    ['in two strings', "tuning['setFlags' + 'FromString']('--no-turbofan')"],
    ['under another name', "\nimport { setFlagsFromString as tune } from 'v8'"],
    ['in code for another process', '`await import("v8")`'],
    ['by require', "const v8 = require('node:v8')"],
    ['by the list of built-in modules', "process.getBuiltinModule('node:v8')"],
    ['by the whole module', "import * as tuning from 'node:v8'"],
    ['by its default', "import { default as tuning } from 'node:v8'"],
    ['by its default and a name', "import tuning, { serialize } from 'node:v8'"],
    ['by exporting it', "export * from 'node:v8'"],
  ] as const) {
    it(`a change of flags ${title} is reported`, () => {
      for (const path of ['src/cli/a.ts', 'bin/a.ts', 'ui/src/a.tsx', 'tools/bundle/a.mjs']) {
        assert.ok(linesOf({ [path]: text }).length > 0, path)
      }
    })
  }

  it('other functions of the module are open to code that names them', () => {
    const text = "import {\n  deserialize,\n  serialize,\n} from 'node:v8'\nconst engine = 'V8'"
    assert.deepEqual(linesOf({ 'src/model/a.ts': text }), [])
  })

  it('no file of the product, its tools and its benches changes them', () => {
    const violations = except(changesNoV8Flags(readSources()), EXCEPTIONS.v8Flags)
    assert.deepEqual(violations.map(renderViolation), [])
  })
})
