import { describe, expect, test } from 'vitest'
import { checkCss } from './attributes.ts'

const REFUSED: Record<string, string> = {
  expression: 'width:expression(alert(1))',
  'expression in capitals with spaces': 'width: EXPRESSION (alert(1))',
  'expression split by comments': 'width:ex/* a */press/**/ion(alert(1))',
  'expression behind a comment that is only a string': 'no:no("*//*");x:ex/*XSS*//*/*/pression(alert(1))',
  'expression behind a comment that is only a URL': 'a:url(/*);x:expression(1);b:url(*/)',
  'expression behind a comment that holds a quote': `a:b/*'*/;x:expression(1)/*'*/`,
  'expression by escape': 'width:\\65xpression(alert(1))',
  'expression by long escapes': 'width:\\000065\\000078pression(alert(1))',
  'expression by escaped letters': 'width:e\\xpre\\ssion(alert(1))',
  'expression in full-width letters': 'width:ｅｘｐｒｅｓｓｉｏｎ(alert(1))',
  'expression inside a broken string': `font-family:'foo';x:expression(alert(1))/*'`,
  'javascript URL': 'background:url(javascript:alert(1))',
  'javascript URL in quotes': `background:url( "java\nscript:alert(1)")`,
  'javascript URL by escape': 'background:url(\\6a avascript:alert(1))',
  'javascript URL written entirely in escapes': `background-image:\\0075\\0072\\006C\\0028'\\006a\\0061\\0076\\0061\\0073\\0063\\0072\\0069\\0070\\0074\\003a\\0061'\\0029`,
  'javascript URL behind a control character': 'background:url(\u0001javascript:alert(1))',
  'javascript URL after a harmless one': 'background:url(https://x/y.png),url(javascript:alert(1))',
  'vbscript URL': 'list-style-image:url("vbscript:msgbox(1)")',
  'import of a script': '@import "javascript:alert(1)";',
  'import of a script by url': '@import url( javascript:alert(1) );',
  'import of data': '@import url(data:text/css,p{});',
  'import of a data image, which is no image': '@import "data:image/png;base64,AA";',
  'import by escape': '@im\\port"\\ja\\vasc\\ript:alert(1)";',
  'image loader': `filter:progid:DXImageTransform.Microsoft.AlphaImageLoader(src='javascript:alert(1)')`,
  'data page': 'background:url(data:text/html,<b>x</b>)',
  'data page with an empty type': 'background:url(data:,x)',
  'archive URL': 'background:url(mhtml:https://x!y)',
  behaviour: 'behavior:url(x.htc)',
  'behaviour after another rule': 'a{color:red;behavior : url(#default#time2)}',
  'behaviour with a hack': 'a{*behavior:url(x.htc)}',
  'behaviour with a prefix': '-ms-behavior:url(x.htc)',
  'behaviour of VML with another behind it': 'v{behavior:url(#default#VML) url(x.htc)}',
  'the VML behaviour, which no reader of today needs':
    'v\\:* {behavior: url(#default#VML);} o\\:*{behavior:url("#default#vml")}',
  'a network path': 'background:url(\\\\\\\\host\\\\share\\\\x.png)',
  'a network path with undecoded escapes': 'background:url("\\\\host\\share\\x.png")',
  'a network path with slashes': 'background:url( "//host/share/x.png" )',
  'a network path in an import': '@import "//host/x.css";',
  'a network path in an image set': 'background:image-set("//host/x.png" 1x)',
  'a network path later in an image set': 'background:image-set("https://x/y.png" 1x, "//host/x.png" 2x)',
  'a network path by backslashes in an image set': `background:-webkit-image-set("y.png" 1x,'\\\\host\\x.png' 2x)`,
  'a network path by a variable in an image set': '--x:"//host/x.png";background:image-set(var(--x) 1x)',
  'a network path in a cross-fade': 'background:cross-fade("//host/x.png", "y.png", 50%)',
  'a network path later in a cross-fade': 'background:-webkit-cross-fade("y.png", "//host/x.png", 50%)',
  'a scheme later in an image set': 'background:image-set("y.png" 1x, "javascript:alert(1)" 2x)',
  'a scheme in a cross-fade': 'background:cross-fade(50% "ms-search:x", red)',
  'a scheme of a local program': 'background:url(ms-search:x)',
  'an inline SVG image': `background:url("data:image/svg+xml;utf8,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E")`,
  'another charset': '@charset "iso-2022-jp"; a{color:red}',
  binding: '-moz-binding:url(https://x/y.xml#z)',
  'binding by escape': '-moz-b\\69nding:url(//x)',
  'Opera link': `-o-link:'javascript:alert(1)';-o-link-source:current`,
}

const ACCEPTED: Record<string, string> = {
  nothing: '',
  'a plain style': 'color:#333;font:14px/1.5 Arial, sans-serif',
  'a web font': '@import url(https://fonts.googleapis.com/css2?family=Inter:wght@400;700&display=swap);',
  'a background image': `background:#fff url('https://x/y.png') no-repeat center / cover`,
  'an inline png': 'background-image:url(data:image/png;base64,iVBORw0KGgo=)',
  'an inline font':
    'src:url(data:application/font-woff;charset=utf-8;base64,d09GR) format("woff"),url(data:font/woff2;base64,d09)',
  'an image set':
    'background:image-set("https://x/y.png" type("image/png") 1x, "y@2x.png" 2x, url(data:image/png;base64,AA) 3x)',
  'a cross-fade': 'background:cross-fade(url(https://x/y.png), "z.png", 50%);font-family:"Arial";color:red',
  'scroll behaviour': 'html{scroll-behavior:smooth}body{overscroll-behavior:none;overscroll-behavior-x:auto}',
  'a class called behavior': '.behavior:hover,#behavior:focus{color:red}',
  'the charset that the gateway sends': '@charset "UTF-8"; a{color:red}',
  'a comment about a network path': '/* url(//cdn.example/x) */ a{color:red}',
  'a class called javascript': '.javascript:hover{color:red}',
  'text about schemes': 'q::before{content:"javascript: no"}',
  'comments about anything': '/* behavior: none; expression(1) */ a{color:red} /* Behavior: x */',
  'a media query': '@media only screen and (max-width:600px){.a{width:100%!important}}',
  'a gradient filter':
    "filter:progid:DXImageTransform.Microsoft.gradient(startColorstr='#111111', endColorstr='#222222')",
  'an attribute selector': 'a[href^="https:"]{color:red} img[src$=".png"]{border:0}',
  'an escaped class name': '.md\\:w-1\\/2{width:50%}.\\31 0{top:0}',
  'names in other scripts': 'font-family:"ＭＳ Ｐゴシック",Osaka;content:"é"',
}

describe('checkCss', () => {
  test.each(Object.entries(REFUSED))('refuses %s', (_name, css) => {
    expect(checkCss(css)).toEqual(expect.any(String))
    expect(checkCss(`p{color:red}\n${css}`)).toEqual(expect.any(String))
  })

  test.each(Object.entries(ACCEPTED))('accepts %s', (_name, css) => {
    expect(checkCss(css)).toBeNull()
  })
})
