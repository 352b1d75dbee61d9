import fc from 'fast-check'

/** Parts that overlap, so that few strings have several of them. */
const test = fc
  .tuple(
    fc.constantFrom('startsWith', 'endsWith', 'contains'),
    fc.constantFrom('a', 'b', 'bb', 'ab', 'ba', 'c'),
  )
  .map(([name, text]) => `.${name}('${text}')`)

/** Three tests of one attribute, which few strings pass. */
export const testsOfOneString: fc.Arbitrary<readonly [string, string, string]> = fc
  .tuple(fc.constantFrom('request.path', "request.headers['x']"), test, test, test)
  .map(([of, a, b, c]) => [of + a, of + b, of + c])

/** Strings made of the parts that are tested. */
export const nearTested = fc
  .array(fc.constantFrom('a', 'b', '/b', 'ab', 'c', 'x'), { maxLength: 4 })
  .map((all) => all.join('').replaceAll('//', '/'))

/** Two conditions of which the second is narrower. */
export const narrowedTests: fc.Arbitrary<readonly [string, string]> = fc
  .tuple(testsOfOneString, fc.boolean(), fc.boolean())
  .map(([[a, b, c], isSecond, isThird]) => {
    const wide = `${a} && ${isSecond ? '' : '!'}${b}`
    return [wide, `${wide} && ${isThird ? '' : '!'}${c}`]
  })
