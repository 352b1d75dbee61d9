import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeOf } from './code-only.ts'
import { readSources } from './read-sources.ts'
import { type Exception, except, isTest, lineAt, type Rule, renderViolation } from './rule.ts'

/*
 * What reaches a point is computed in one place: other code that does so has to match the parents
 * of routes with listeners, or to collect the policies around these.
 */
const WALKS: readonly RegExp[] = [
  /\bisAttached\b|\bhostnamesOn\b|\breachable\(\w*\.?hostnames\b/g,
  /\bparents\s*\.\s*(?:some|every|find|filter|map|flatMap|forEach|values|entries)\s*\(/g,
  /\bof\s+(?:\w+\.)*parents\b/g,
  /\b(?:gateway|listener)\.policies\b/g,
  /\bgateway\.listeners\b/g,
  /\bgateways\s*\.\s*\w+\(\(\{[^}]*\b(?:listeners|policies)\b/g,
  /\{[^{}]*\b(?:listeners|policies)\b[^{}]*\} of (?:\w+\.)*gateways\b/g,
]

const ALLOWED: readonly Exception[] = [
  {
    path: 'src/analysis/invariants/suppose.ts',
    reason: 'adds a condition to the listeners that reach named: it makes a Model',
  },
  {
    path: 'src/cli/convert/kubernetes.ts',
    reason: 'copies a Model to a file: a route keeps its parents also where nothing reaches it',
  },
  {
    path: 'src/cli/suite/under-test.ts',
    reason: 'gives every listener another port: it makes a Model',
  },
  {
    path: 'src/controller/translate/parents.ts',
    reason: 'which listeners of a Kubernetes Gateway take a route, before there is a Model',
  },
]

/** Reach itself, and the folder it builds on. */
const BELOW = /^src\/(?:reach|model)\//

const onlyReachWalks: Rule = (files) =>
  files
    .filter(({ path }) => /^src\//.test(path) && !BELOW.test(path) && !isTest(path))
    .flatMap((file) => {
      const code = codeOf(file)
      return WALKS.flatMap((walk) => [...code.matchAll(walk)]).map(({ 0: found, index }) => ({
        path: file.path,
        line: lineAt(code, index),
        message: `\`${found}\`: ask src/reach what reaches a point`,
      }))
    })

describe('only src/reach', () => {
  it('determines what reaches a point', () => {
    const found = except(onlyReachWalks(readSources()), ALLOWED)
    assert.deepEqual(found.map(renderViolation), [])
  })

  it('planted: a separate walk is found, but not in reach, in a test, in comments or in strings', () => {
    const text = 'const own = routes.filter(({ parents }) => parents.some(isOwn))'
    const files = [
      { path: 'src/analysis/a.ts', text },
      { path: 'src/analysis/b.ts', text: 'for (const { gateway } of route.parents) walk(gateway)' },
      { path: 'src/proxy/c.ts', text: 'const all = [...gateway.policies, ...listener.policies]' },
      { path: 'src/cli/c.ts', text: 'const all = gateways.flatMap(({ listeners }) => listeners)' },
      {
        path: 'src/cli/d.ts',
        text: 'for (const { name, listeners } of model.gateways) walk(name)',
      },
      { path: 'src/cli/e.ts', text: 'for (const own of gateway.listeners) walk(own)' },
      { path: 'src/analysis/g.ts', text: 'reachable(route.hostnames, listener.hostname)' },
      { path: 'src/reach/d.ts', text },
      { path: 'src/analysis/e.test.ts', text },
      { path: 'src/analysis/f.ts', text: '// isAttached\nconst said = "of route.parents"' },
    ]
    assert.deepEqual(
      onlyReachWalks(files).map(({ path }) => path),
      [
        'src/analysis/a.ts',
        'src/analysis/b.ts',
        ...['src/proxy/c.ts', 'src/proxy/c.ts'],
        ...['src/cli/c.ts', 'src/cli/d.ts', 'src/cli/e.ts'],
        'src/analysis/g.ts',
      ],
    )
  })
})
