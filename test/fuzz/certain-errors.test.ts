// The errors that keep a file from being served are the same whether only suspect rules or the
// whole configuration is checked.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { certainErrors, errorsAmong } from '../../src/analysis/lint/certain.ts'
import { suspectsOf } from '../../src/analysis/lint/suspect-rules.ts'
import type { Model } from '../../src/model/model.ts'
import { reconcile } from '../../src/model/reconcile.ts'
import { runToCompletion } from '../../src/model/steps.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { Credentials } from '../truth/credentials.ts'
import { rulesOf, type Tree, withValue, writeYaml } from '../truth/document.ts'
import { makeDocument } from '../truth/generate.ts'
import { changed } from '../truth/mutate.ts'
import { Random } from '../truth/random.ts'
import { assertSeeds } from './assert-property.ts'
import { fuzz } from './runs.ts'

const PLACE = { ports: [4101, 4102, 4103], backends: [5101, 5102, 5103, 5104, 5105] }

/** Some of these can never match, depending on where they are used. */
const ODD = [
  "jwt.sub == 'alice'",
  "apiKey.name == 'robot' || jwt.sub == 'alice'",
  "request.method == 'get'",
  "request.method in ['get', 'PUT']",
  "request.path.startsWith('admin')",
  "request.path.endsWith('.json')",
  "string(source.address) == '10.0.0.0/8'",
  "destination.hostname == 'a.test'",
  "request.host == 'A.test'",
  "basicAuth.username == 'x' && true",
]

describe('errors that keep a configuration from being served', () => {
  const folder = mkdtempSync(join(tmpdir(), 'certain-'))
  new Credentials().writeFiles(folder)
  after(() => rmSync(folder, { recursive: true }))
  const runs = fuzz(0.1)

  it('are the same for suspect rules only and for the whole configuration', async () => {
    const seen = { withErrors: 0, withoutSuspects: 0, withFewerRoutes: 0 }
    await assertSeeds('certain-errors', runs, (seed) => {
      const random = new Random(seed)
      let tree = makeDocument(random, PLACE)
      let before: Model | undefined
      for (let step = 0; step < 3; step++) {
        tree = odd(random, changed(random, tree))
        const { value } = loadText(writeYaml(tree).text, join(folder, 'x.yaml'), {
          environment: {},
        }).result
        if (value === undefined) continue
        const model = runToCompletion(reconcile(before, value))
        const found = runToCompletion(certainErrors(model, before))
        before = model
        assert.deepEqual(found, runToCompletion(errorsAmong(value)), `seed ${seed}, step ${step}`)
        const suspects = runToCompletion(suspectsOf(value))
        if (found.length > 0) seen.withErrors++
        if (suspects === undefined) seen.withoutSuspects++
        else if (suspects.model.routes.length < value.routes.length) seen.withFewerRoutes++
      }
    })
    for (const [what, count] of Object.entries(seen)) assert.ok(count > runs.numRuns / 40, what)
  })
})

/** Replaces some rules, or none, with odd ones. */
function odd(random: Random, tree: Tree): Tree {
  let now = tree
  for (let left = random.int(4); left > 0; left--) {
    const rules = rulesOf(now)
    if (rules.length > 0) now = withValue(now, random.pick(rules).path, random.pick(ODD))
  }
  return now
}
