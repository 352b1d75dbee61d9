import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeOf } from './code-only.ts'
import { readSources } from './read-sources.ts'
import { lineAt, type SourceFile } from './rule.ts'

/** Former names in code, and the field's own names that replaced them. */
const BETTER: readonly (readonly [before: RegExp, now: string])[] = [
  [/\bmost[A-Z]\w*|\bMOST_\w+/g, 'max…'],
  [/\b[oO]ctets\b|\b(?:\w+_)?OCTETS\b/g, 'bytes, byteCount'],
  [/\bDoorway\w*|\breplan\b|\breadmit\b/g, 'BoundPort, update, reauthorize'],
  [/\bOpenSite\b|\bSites\b/g, 'CompileContext, ExpressionCompiler'],
  [/\bReaching\b|\bWhereabouts\b/g, 'EffectivePolicies, Place'],
  [/\bScrutiny\b|\bisDue\b/g, 'DecisionSampler, shouldAudit'],
  [/\bSurroundings\b|\bAcceptance\b|\b[A-Z]\w+World\b|\b[a-z]\w+World\b/g, '…Deps'],
  [/\bletGo\b/g, 'release'],
  [/\btoEnd\b|\b\w*[iI]nSlices\b|\b\w+Stepwise\b/g, 'runToCompletion, …Cooperatively'],
  [/\bpatienceBetween\b|\bPARTING\b|\blinger\w*/g, 'idleTimeout, CLOSE_GRACE_MS'],
  [/\b(?:\w+_)?PATIENCE\b/g, 'TIMEOUT_MS'],
  [/\bbeginFrugally\b|\bwithoutCompiler\b|\b\w*[sS]upposed/g, 'Hypothetical…'],
  [
    /\bwhen(?:Ready|Expired|Ended|Decided|Done|Dropped|Empty|Exported|Failed|Lost|Over|Stopped)\b/g,
    'on…',
  ],
  [/\bNOTHING\b/g, 'what it is: NO_HEADERS, EMPTY_RULE_SET'],
  [/\b\w*[mM]ended\b/g, 'fixed'],
  [/\bwithoutMcp\b|\bwithoutEffectOn\w+/g, 'check…Policies'],
]

/** Former file names. */
const FILES =
  /\/(?:frugal-start|supposed|overshadowed|habits|known|defined|foreign|stamp|doorstep)(?:\.\w+)*\.\w+$/

/** Places where "answer" is correct: DNS, models, and names that scripts and people read. */
const ANSWERS: readonly RegExp[] = [
  /^src\/upstream\/(?:dns|name-source|fixtures\/name-server)(?:\.test)?\.ts$/,
  /^test\/faults\/names\.test\.ts$/,
  /^src\/protocols\/llm\/testdata\//,
  // The rules themselves.
  /^test\/(?:architecture\/names|glossary)\.test\.ts$/,
]

/** The same within other files: verdicts in the JSON of `prove`, an outcome of `explain`. */
const CALLED_ANSWER =
  /DNS answers?|assistant who answers|unanswered probes|(?<=['`])answered(?=['`])|^ {2}answered(?=: \['good')|\banswer(?=: (?:[vV]erdict|\{ kind))|(?<=\?\.)answer\b|(?<=`)answer(?=`)/gm

function answers(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => !ANSWERS.some((own) => own.test(path)))
    .flatMap(({ path, text }) => {
      const rest = text.replaceAll(CALLED_ANSWER, (said) => said.replaceAll(/./g, '-'))
      const named = /answer[^/]*$/i.test(path) ? [`${path}: its name`] : []
      const found = [...rest.matchAll(/\w*answer\w*/gi)].map(
        ({ 0: word, index }) => `${path}:${lineAt(text, index)}: ${word}`,
      )
      return [...named, ...found]
    })
}

function oldNames(files: readonly SourceFile[]): readonly string[] {
  const misnamed = files.filter(({ path }) => FILES.test(path))
  const named = files
    .filter(({ path }) => /\.tsx?$/.test(path))
    .flatMap((file) => {
      const code = codeOf(file)
      return BETTER.flatMap(([before, now]) =>
        [...code.matchAll(before)].map(
          ({ 0: name, index }) => `${file.path}:${lineAt(code, index)}: ${name}, not ${now}`,
        ),
      )
    })
  return [...misnamed.map(({ path }) => `${path}: its name`), ...named]
}

describe('names in code', () => {
  it('match the words of the field', () => assert.deepEqual(oldNames(readSources()), []))

  it('planted: found in code and file names, and ignored in comments and strings', () => {
    const files = [
      { path: 'src/proxy/a.ts', text: "// mostBody\nconst mostBody = 'Doorway'" },
      { path: 'src/cli/supposed.ts', text: 'type A = JwtWorld' },
      { path: 'src/cli/a.test.ts', text: 'letGo()' },
      { path: 'src/wire/a.ts', text: 'const octets = bytes.length' },
      { path: 'test/proxy/doorstep.ts', text: 'letGo()' },
    ]
    assert.deepEqual(oldNames(files), [
      'src/cli/supposed.ts: its name',
      'test/proxy/doorstep.ts: its name',
      'src/proxy/a.ts:2: mostBody, not max…',
      'src/cli/supposed.ts:1: JwtWorld, not …Deps',
      'src/cli/a.test.ts:1: letGo, not release',
      'src/wire/a.ts:1: octets, not bytes, byteCount',
      'test/proxy/doorstep.ts:1: letGo, not release',
    ])
  })

  it('call a response a response, in code, comments and titles', () =>
    assert.deepEqual(answers(readSources()), []))

  it('planted: "answer" is found anywhere except where it is the correct word', () => {
    const files = [
      { path: 'src/admin/a.ts', text: 'const apiAnswer: Answer = {}' },
      { path: 'test/proxy/a.test.ts', text: "// Answers 200.\nit('is answered', () => {})" },
      { path: 'bench/answers.ts', text: 'const { answer: reply } = said' },
      { path: 'src/upstream/dns.ts', text: 'const found: Answer = none' },
      { path: 'src/cli/b.ts', text: "say({ outcome: 'answered', answer: verdict })" },
    ]
    assert.deepEqual(answers(files), [
      'src/admin/a.ts:1: apiAnswer',
      'src/admin/a.ts:1: Answer',
      'test/proxy/a.test.ts:1: Answers',
      'test/proxy/a.test.ts:2: answered',
      'bench/answers.ts: its name',
      'bench/answers.ts:1: answer',
    ])
  })
})
