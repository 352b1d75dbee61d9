import type { SourceFile } from './rule.ts'

const codeByFile = new WeakMap<SourceFile, string>()

/** `codeOnly` of the file's text, scanned once for all rules. */
export function codeOf(file: SourceFile): string {
  const code = codeByFile.get(file) ?? codeOnly(file.text)
  codeByFile.set(file, code)
  return code
}

/**
 * The text with comments, strings, templates and regular expressions blanked, every character at
 * its own offset and quotes kept, so that patterns for code match only code. A scanner and not a
 * parser: it guesses whether `/` begins a regular expression, which is right for formatted code.
 */
export function codeOnly(text: string): string {
  const out = text.split('')
  const blank = (from: number, to: number) => {
    for (let i = from; i < to; i++) if (out[i] !== '\n') out[i] = ' '
  }
  const braces: ('block' | 'template')[] = []
  let i = 0

  const skipTemplate = (from: number): number => {
    let at = from
    while (at < text.length && text[at] !== '`') {
      if (text[at] === '$' && text[at + 1] === '{') {
        blank(from, at)
        braces.push('template')
        return at + 2
      }
      at += text[at] === '\\' ? 2 : 1
    }
    blank(from, Math.min(at, text.length))
    return at + 1
  }

  while (i < text.length) {
    const char = text[i] as string
    const next = text[i + 1]
    if (char === '/' && (next === '/' || next === '*')) {
      const end = commentEnd(text, i)
      blank(i, end)
      i = end
    } else if (char === "'" || char === '"') {
      const end = stringEnd(text, i)
      blank(i + 1, end)
      i = end + 1
    } else if (char === '`') i = skipTemplate(i + 1)
    else if (char === '/' && beginsPattern(out, i)) {
      const end = patternEnd(text, i)
      blank(i + 1, end)
      i = Math.max(end, i + 1)
    } else {
      if (char === '{') braces.push('block')
      i++
      if (char === '}' && braces.pop() === 'template') i = skipTemplate(i)
    }
  }
  return out.join('')
}

function commentEnd(text: string, start: number): number {
  const isLine = text[start + 1] === '/'
  const end = text.indexOf(isLine ? '\n' : '*/', start + 2)
  if (end === -1) return text.length
  return isLine ? end : end + 2
}

/** The offset of the closing quote, or the end of the line if there is none (text in JSX). */
function stringEnd(text: string, start: number): number {
  let i = start + 1
  while (i < text.length && text[i] !== text[start] && text[i] !== '\n') {
    i += text[i] === '\\' ? 2 : 1
  }
  return Math.min(i, text.length)
}

/** `/` divides after a value and begins a regular expression elsewhere. */
function beginsPattern(code: readonly string[], at: number): boolean {
  let i = at - 1
  while (i >= 0 && /\s/.test(code[i] as string)) i--
  if (i < 0) return true
  let from = i
  while (from >= 0 && /[\w$]/.test(code[from] as string)) from--
  const word = code.slice(from + 1, i + 1).join('')
  if (word !== '') return /^(return|typeof|case|in|of|do|else|void|throw|yield|await)$/.test(word)
  return !/[)\]'"`]/.test(code[i] as string)
}

/**
 * The offset after the closing slash, or `start` if the line has none and this is no regular
 * expression.
 */
function patternEnd(text: string, start: number): number {
  let inClass = false
  for (let i = start + 1; i < text.length && text[i] !== '\n'; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '[') inClass = true
    else if (text[i] === ']') inClass = false
    else if (text[i] === '/' && !inClass) return i + 1
  }
  return start
}
