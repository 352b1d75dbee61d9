import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeOf } from './code-only.ts'
import { readSources } from './read-sources.ts'
import { isTest, lineAt, type SourceFile } from './rule.ts'

/** Names that code has had, and the field's own for the same. */
const BETTER: readonly (readonly [before: RegExp, now: string])[] = [
  [/\bmost[A-Z]\w*|\bMOST_\w+/g, 'max…'],
  [/\b[oO]ctets\b/g, 'bytes, byteCount'],
  [/\bDoorway\w*|\breplan\b|\breadmit\b/g, 'BoundPort, update, reauthorize'],
  [/\bOpenSite\b|\bSites\b/g, 'CompileContext, ExpressionCompiler'],
  [/\bReaching\b|\bWhereabouts\b/g, 'EffectivePolicies, Place'],
  [/\bScrutiny\b|\bisDue\b/g, 'DecisionSampler, shouldAudit'],
  [/\bSurroundings\b|\bAcceptance\b|\b[A-Z]\w+World\b|\b[a-z]\w+World\b/g, '…Deps'],
  [/\bletGo\b/g, 'release'],
  [/\btoEnd\b|\b\w*[iI]nSlices\b/g, 'runToCompletion, …Cooperatively'],
  [/\bpatienceBetween\b|\bPARTING\b|\blinger\w*/g, 'idleTimeout, CLOSE_GRACE_MS'],
  [/\bbeginFrugally\b|\bwithoutCompiler\b|\bSupposed\b/g, 'deferOptimization, HypotheticalRequest'],
  [/\bwhenReady\b|\bwhenExpired\b|\bwhenEnded\b|\bwhenDecided\b/g, 'on…'],
  [/\bAnswers?\b|\b[a-z]\w*Answers?\b|\b[A-Z]\w*Answers?\b/g, '…Response, …Handler, …Result'],
  [/\bwithoutMcp\b|\bwithoutEffectOn\w+/g, 'check…Policies'],
]

/** Files that were called otherwise. */
const FILES =
  /\/(?:frugal-start|supposed|overshadowed|habits|known|defined|foreign|stamp|answers|doorstep)(?:\.\w+)*\.\w+$/

/** What name servers send is an answer there, too. */
const DNS = /^src\/upstream\/(?:name-source|dns)\.ts$/

function oldNames(files: readonly SourceFile[]): readonly string[] {
  const misnamed = files.filter(({ path }) => FILES.test(path))
  const named = files
    .filter(({ path }) => /^(?:src|bin)\//.test(path) && !isTest(path))
    .flatMap((file) => {
      const code = codeOf(file)
      const found = BETTER.flatMap(([before, now]) =>
        [...code.matchAll(before)].map(
          ({ 0: name, index }) => `${file.path}:${lineAt(code, index)}: ${name}, not ${now}`,
        ),
      )
      return DNS.test(file.path) ? found.filter((one) => !/Answers?, not/.test(one)) : found
    })
  return [...misnamed.map(({ path }) => `${path}: its name`), ...named]
}

describe('names in code', () => {
  it("are the field's", () => assert.deepEqual(oldNames(readSources()), []))

  it('planted: in code, in a file, and not in what is only said', () => {
    const files = [
      { path: 'src/proxy/a.ts', text: "// mostBody\nconst mostBody = 'Doorway'" },
      { path: 'src/cli/supposed.ts', text: 'type A = JwtWorld' },
      { path: 'src/cli/a.test.ts', text: 'letGo()' },
      { path: 'src/wire/a.ts', text: 'const octets = bytes.length' },
      { path: 'src/admin/a.ts', text: 'const apiAnswer: Answer = answer' },
      { path: 'src/upstream/dns.ts', text: 'const found: Answer = none' },
      { path: 'test/proxy/doorstep.ts', text: 'letGo()' },
    ]
    assert.deepEqual(oldNames(files), [
      'src/cli/supposed.ts: its name',
      'test/proxy/doorstep.ts: its name',
      'src/proxy/a.ts:2: mostBody, not max…',
      'src/cli/supposed.ts:1: JwtWorld, not …Deps',
      'src/wire/a.ts:1: octets, not bytes, byteCount',
      'src/admin/a.ts:1: apiAnswer, not …Response, …Handler, …Result',
      'src/admin/a.ts:1: Answer, not …Response, …Handler, …Result',
    ])
  })
})
