import { isBuiltin } from 'node:module'
import { codeOf } from './code-only.ts'
import { importsOf } from './imports.ts'
import { isTest, isTypeScript, lineAt, type Rule, type SourceFile, type Violation } from './rule.ts'
import {
  BROWSER_SAFE,
  CODE_GENERATOR,
  EMPTY_NAMES,
  MAX_FILE,
  NAMED_BY_OTHERS,
  PERMIT_MAKER,
} from './table.ts'

/** Browser-safe files, and everything that they load at run time, use no Node-only features. */
export const runsInBrowsers: Rule = (files) => {
  const byPath = new Map(files.map((file) => [file.path, file]))
  // Why a file must be browser-safe: empty for itself, or the chain of imports that leads to it.
  const reasons = new Map<string, string>()
  const queue = files.filter(({ path }) => BROWSER_SAFE.test(path) && !isTest(path))
  for (const { path } of queue) reasons.set(path, '')
  for (const file of queue) {
    for (const { target, typeOnly } of importsOf(file)) {
      const loaded = target === undefined ? undefined : byPath.get(target)
      if (loaded === undefined || typeOnly || reasons.has(loaded.path)) continue
      reasons.set(loaded.path, ` (loaded by ${file.path}${reasons.get(file.path)})`)
      queue.push(loaded)
    }
  }
  return queue.flatMap((file) => needsOfNode(file, reasons.get(file.path) ?? ''))
}

const NODE_GLOBALS =
  /(?<![\w$.])(?:process(?=\s*\??[.[])|Buffer\b(?!\s*:)|__dirname\b|__filename\b|require(?=\s*\())|\bglobalThis\.(?:process|Buffer)\b/g

function needsOfNode(file: SourceFile, why: string): readonly Violation[] {
  const modules = importsOf(file)
    .filter(({ specifier }) => isBuiltin(specifier))
    .map(({ line, specifier }) => ({ line, what: `imports ${specifier}` }))
  const globals = matches(file, NODE_GLOBALS).map(({ line, found }) => ({
    line,
    what: `uses ${found}`,
  }))
  return [...modules, ...globals].map(({ line, what }) => ({
    path: file.path,
    line,
    message: `${what}, but must run in the browser too${why}`,
  }))
}

/** Text becomes code in one file only: the one to review for injection. */
export const generatesCodeInOnePlace: Rule = (files) =>
  files
    .filter(({ path }) => isTypeScript(path) && path !== CODE_GENERATOR)
    .flatMap((file) =>
      [
        ...matches(file, /(?<![\w$.])eval\s*\(|\bnew\s+Function\b|(?<![\w$.]|new\s)Function\s*\(/g),
        ...importsOf(file)
          .filter(({ specifier }) => /^(node:)?vm$/.test(specifier))
          .map(({ line, specifier }) => ({ line, found: specifier })),
      ].map(({ line, found }) => ({
        path: file.path,
        line,
        message: `${found.trim()} makes code of text: only ${CODE_GENERATOR} may`,
      })),
    )

/**
 * V8 reads its flags when it starts: a flag that a running process changes contradicts V8's own
 * state sooner or later, and V8 then aborts the process. All text counts, strings too, and the
 * module is imported by name alone, so that no other name leads to the function.
 */
export const changesNoV8Flags: Rule = (files) =>
  files
    .filter(({ path }) => /^(src|bin|ui|tools|bench)\//.test(path))
    .flatMap(({ path, text }) => [
      ...[...text.matchAll(/set_?flags\w*|flags_?from_?string/gi)].map(({ index, 0: found }) => ({
        path,
        line: lineAt(text, index),
        message: `${found} changes V8's flags while it runs: pass them to the process that starts`,
      })),
      ...[...withoutNamedImports(text).matchAll(/['"`](?:node:)?v8['"`]/g)].map(({ index }) => ({
        path,
        line: lineAt(text, index),
        message: 'reaches all of node:v8: import what it needs by name',
      })),
    ])

/** `import { a, b } from 'node:v8'` blanked, every line at its place. */
function withoutNamedImports(text: string): string {
  return text.replace(
    /^import (?:type )?\{(?![^}]*\bdefault\b)[^}]*\} from '(?:node:)?v8'$/gm,
    (found) => found.replace(/[^\n]/g, ' '),
  )
}

/**
 * HTTP/2 for requests is our own implementation, as strict as the rest; tests use Node's as the
 * reference.
 */
export const speaksOwnHttp2: Rule = (files) =>
  files
    .filter(({ path }) => /^(src|bin)\//.test(path) && !isTest(path))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ specifier }) => /^(node:)?http2$/.test(specifier))
        .map(({ line, specifier }) => ({
          path: file.path,
          line,
          message: `imports ${specifier}, which only tests may: HTTP/2 is src/wire/http2`,
        })),
    )

/** Permits are created only where the decision is made, and no other value is cast to one. */
export const makesPermitsInOnePlace: Rule = (files) =>
  files
    .filter(({ path }) => /^(src|bin)\//.test(path) && path !== PERMIT_MAKER)
    .filter(({ path }) => isTypeScript(path))
    .flatMap((file) =>
      matches(
        file,
        /\bnew\s+Permit\b|\b(as|satisfies)\s+(Forward)?Permit\b|extends\s+Permit\b(?!\s*\|)/g,
      ).map(({ line, found }) => ({
        path: file.path,
        line,
        message: `${found.trim()} makes a permit: only ${PERMIT_MAKER} may`,
      })),
    )

export const staysShort: Rule = (files) =>
  files.flatMap(({ path, text }) => {
    const lines = text.replace(/\n$/, '').split('\n').length
    if (lines <= MAX_FILE) return []
    const message = `has ${lines} lines, more than ${MAX_FILE}: split it by what it speaks of`
    return [{ path, line: MAX_FILE + 1, message }]
  })

export const hasTellingNames: Rule = (files) =>
  files.flatMap(({ path }) => {
    if (NAMED_BY_OTHERS.test(path)) return []
    const names = path.split('/').map((part) => part.split('.')[0] ?? '')
    const empty = names.find((name) => EMPTY_NAMES.includes(name))
    if (empty !== undefined) {
      return [{ path, line: 1, message: `"${empty}" does not say what is inside: name the thing` }]
    }
    const odd = path.split('/').find((part) => !/^[a-z0-9]+([-.][a-z0-9]+)*$/.test(part))
    if (odd === undefined) return []
    return [{ path, line: 1, message: `"${odd}" is not kebab-case` }]
  })

export const exportsByName: Rule = (files) =>
  files
    .filter(({ path }) => isTypeScript(path))
    .flatMap((file) =>
      matches(file, /\bexport\s+default\b|\bas\s+default\b/g).map(({ line }) => ({
        path: file.path,
        line,
        message: 'has a default export: export it by its name',
      })),
    )

function matches(file: SourceFile, pattern: RegExp) {
  const code = codeOf(file)
  return [...code.matchAll(pattern)].map(({ index, 0: found }) => ({
    line: lineAt(code, index),
    found,
  }))
}
