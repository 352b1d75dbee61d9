/** The tokens of generated source: enough of JavaScript's grammar to find foreign tokens. */
export interface JavaScriptTokens {
  /** Identifiers and keywords that are not members. */
  readonly names: ReadonlySet<string>
  /** Names after a dot. */
  readonly members: ReadonlySet<string>
  /** String literals, as written. */
  readonly strings: ReadonlySet<string>
  readonly numbers: ReadonlySet<string>
}

const SPACE = /[ \n]+/y
const NAME = /[A-Za-z_$][\w$]*/y
const NUMBER = /\d[\w.]*/y
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y
// No comment, template or regular expression begins with any of these.
const PUNCTUATION = /=>|\?\.|===|!==|&&|\|\||\+\+|--|<=|>=|[(){}[\];,<>?:=!.+-]/y

/** Throws at the first character that starts none of these tokens. */
export function readJavaScript(source: string): JavaScriptTokens {
  const names = new Set<string>()
  const members = new Set<string>()
  const strings = new Set<string>()
  const numbers = new Set<string>()
  let before = ''
  for (let at = 0; at < source.length; ) {
    const take = (pattern: RegExp): string | undefined => {
      pattern.lastIndex = at
      return pattern.exec(source)?.[0]
    }
    const space = take(SPACE)
    if (space !== undefined) {
      at += space.length
      continue
    }
    let token: string | undefined
    if ((token = take(NAME)) !== undefined) {
      const isMember = before === '.' || before === '?.'
      if (isMember) members.add(token)
      else names.add(token)
    } else if ((token = take(NUMBER)) !== undefined) numbers.add(token)
    else if ((token = take(STRING)) !== undefined) strings.add(token)
    else token = take(PUNCTUATION)
    if (token === undefined)
      throw new Error(`foreign to generated code: ${source.slice(at, at + 40)}`)
    before = token
    at += token.length
  }
  return { names, members, strings, numbers }
}
