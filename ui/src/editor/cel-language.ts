import { StreamLanguage } from '@codemirror/language'

const KEYWORDS = new Set(['in', 'true', 'false', 'null', 'has'])

/** Highlighting only; the checker handles the meaning of expressions. */
export const celLanguage = StreamLanguage.define({
  name: 'cel',
  token(stream) {
    if (stream.eatSpace()) return null
    if (stream.match('//')) {
      stream.skipToEnd()
      return 'comment'
    }
    if (stream.match(/^[rRbB]{0,2}(?:'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?)/)) return 'string'
    if (stream.match(/^(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)u?/)) return 'number'
    const word = stream.match(/^[A-Za-z_][\w]*/) as RegExpMatchArray | null
    if (word !== null) {
      if (KEYWORDS.has(word[0])) return 'keyword'
      return stream.peek() === '(' ? 'variableName.function' : 'variableName'
    }
    stream.next()
    return 'operator'
  },
})
