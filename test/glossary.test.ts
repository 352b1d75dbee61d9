import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { COMMANDS } from '../src/cli/index.ts'

const ROOT = join(import.meta.dirname, '..')

/** All pages for users except the changelog, which describes the past. */
const PAGES = globSync(
  [
    '{README,SECURITY,CONTRIBUTING,GOVERNANCE,CODE_OF_CONDUCT}.md',
    '.github/**/*.md',
    'docs/**/*.md',
    'examples/**/*.yaml',
    'charts/*/{README.md,values.yaml,Chart.yaml}',
    'charts/*/files/*.json',
    'charts/portcullis-crds/templates/*.yaml',
  ],
  { cwd: ROOT },
)
  .concat(globSync('charts/*/templates/NOTES.txt', { cwd: ROOT }))
  .sort()

/** Programs with messages for users: only their strings are checked, not names and comments. */
const PROGRAMS = globSync(
  ['{src,bin,ui/src,site}/**/*.{ts,tsx,vue}', 'tools/{charts,crds}/*.ts', 'charts/*/files/*.mjs'],
  { cwd: ROOT },
)
  .concat(globSync('charts/*/templates/**/*.{yaml,tpl}', { cwd: ROOT }))
  .filter((file) => !/\.test\.ts$|\/fixtures\/|\/generated\/|portcullis-crds/.test(file))
  .sort()

/** Code that people wrote, for its comments. */
const CODE = globSync(['{src,bin,ui/src,site,tools,bench,test}/**/*.{ts,tsx}'], { cwd: ROOT })
  .filter((file) => !/\/generated\/|node_modules|glossary\.test/.test(file))
  .sort()

/** Words that the field does not use, and their replacements. */
const LEFT_OUT: readonly (readonly [RegExp, string])[] = [
  [/\boctets?\b/i, 'bytes'],
  [/\bwhoever\b/i, 'anyone who, clients, callers'],
  [/\b(no|every|any)body\b/i, 'no one, everyone, clients, callers'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\b(is|are|be|was|were) told\b/i, 'is reported, is logged'],
  [/\b(is|are|be|was|were) asked\b/i, 'is evaluated, is called'],
  [/\basks (a|an|the|for|which|who)\b/i, 'calls, requests'],
  [/\blets? (pass|through)\b/i, 'allow, admit'],
  [/\blets? (everything|everyone|it|them|requests?) pass\b/i, 'allow, admit'],
  [/\bturn(s|ed)? away\b/i, 'reject, deny'],
  [/\brefus(e|es|ed|ing|als?)\b/i, 'reject, deny'],
  [/\b(is|are|was|were|be) answered\b/i, 'gets a response'],
  [/\banswers? (with )?[1-5]\d\d\b/i, 'responds with'],
  [/\b(the|an|its|their) answers?\b/i, 'response'],
  [/\b(can|cannot|may|must) stand\b/i, 'can be set'],
  [/\bstands? (at|in|under|below|behind|before|for|there|here)\b/i, 'is set, is written, means'],
  [/\bmay be left out\b/i, 'optional'],
  [/\bwithout a word\b/i, 'by default'],
  [/\bno (policy|gateway|route|backend) is called\b/i, 'unknown'],
  [/\bdigests? of (an? |the )?(API )?keys?\b|\bkeys? (and|or) (its|their) digests?\b/i, 'hash'],
]

/** Phrases in which such a word is correct because another program or a protocol uses it. */
const RIGHT: readonly RegExp[] = [
  /REFUSED_STREAM/g,
  /connections? refused/gi,
  /runs as `nobody`/g,
  /DNS answers?/gi,
  /its answer has expired|no longer in the answer/g,
  /macOS asks/g,
  // The name of a label.
  /\{\{refusal\}\}|\(refusal\)/g,
]

/** Removes code blocks and inline code, whose names are exempt. */
function prose(text: string): string {
  const plain = text
    .replaceAll(/^([ \t]*)(```|~~~)[\s\S]*?^[ \t]*\2/gm, (block) => block.replaceAll(/[^\n]/g, ''))
    .replaceAll(/`[^`\n]*`|\]\([^)]*\)/g, '')
  return RIGHT.reduce((left, pattern) => left.replaceAll(pattern, ''), plain)
}

/**
 * Strings of at least two words without their interpolations; in templates, the messages of `fail`.
 */
function textsOf(file: string, code: string): string {
  if (/\.(yaml|tpl)$/.test(file)) {
    return [...code.matchAll(/\b(?:fail|printf) "((?:[^"\\]|\\.)*)"/g)]
      .map(([, text]) => text)
      .join('\n')
  }
  const blank = (comment: string) => comment.replaceAll(/[^\n]/g, ' ')
  const plain = code
    .replaceAll(/\/\*[\s\S]*?\*\//g, blank)
    .replaceAll(/(^|[\s;{}(,])\/\/[^\n]*/gm, blank)
  const strings = plain.matchAll(
    /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|>([A-Z][^<>{}=;]+)</g,
  )
  return [...strings]
    .map(([, ...found]) => found.find((one) => one !== undefined) ?? '')
    .map((text) => text.replaceAll(/\$\{[^}]*\}/g, 'x').replaceAll('\n', ' '))
    .filter((text) => /\S\s+\S/.test(text) && !/^\(?sum |sum by/.test(text))
    .join('\n')
}

/** The comments of code, each line on its own. */
function commentsOf(code: string): string {
  const found = code.matchAll(/\/\*[\s\S]*?\*\/|(?:^|[\s;{}(,])\/\/[^\n]*/gm)
  return [...found].map(([comment]) => comment).join('\n')
}

function leftOutIn(text: string): readonly string[] {
  return prose(text)
    .split('\n')
    .flatMap((line, index) =>
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

  it('messages, the Admin UI, dashboards and charts use the words of the field', () => {
    assert.ok(PROGRAMS.length > 1000)
    const found = PROGRAMS.flatMap((file) => {
      const texts = textsOf(file, readFileSync(join(ROOT, file), 'utf8'))
      return leftOutIn(texts).map((one) => `${file}: ${one.replace(/^line \d+: /, '')}`)
    })
    assert.deepEqual(found, [])
  })

  it('comments use the words of the field', () => {
    assert.ok(CODE.length > 2000)
    const found = CODE.flatMap((file) =>
      leftOutIn(commentsOf(readFileSync(join(ROOT, file), 'utf8'))).map(
        (one) => `${file}: ${one.replace(/^line \d+: /, '')}`,
      ),
    )
    assert.deepEqual(found, [])
  })

  it('finds a forbidden word in messages and pages, and ignores names and comments', () => {
    const code = [
      '// whoever asks',
      `report({ message: \`\${whoever} is told of \${port}\` })`,
      "const whoever = 'nobody'",
    ].join('\n')
    assert.deepEqual(leftOutIn(textsOf('a.ts', code)), [
      'line 1: "is told": say is reported, is logged',
    ])
    assert.equal(leftOutIn(textsOf('a.tsx', '<p>Requests that were refused</p>')).length, 1)
    assert.equal(leftOutIn(textsOf('a.tpl', '{{ fail "nobody may" }}')).length, 1)
  })

  it('finds every forbidden word', () => {
    assert.deepEqual(leftOutIn('a\nWhoever asks is told.'), [
      'line 2: "Whoever": say anyone who, clients, callers',
      'line 2: "is told": say is reported, is logged',
    ])
  })
})
