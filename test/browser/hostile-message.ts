/** Everything we know that makes a browser run or load something, each at an address of its own below `outside`. */
export function hostileHtml(outside: string): string {
  const call = (name: string) => `fetch('${outside}/${name}')`
  return `<html><head>
    <meta http-equiv="refresh" content="0;url=${outside}/refresh">
    <base href="${outside}/base/">
    <link rel="stylesheet" href="${outside}/stylesheet.css">
    <link rel="preload" as="image" href="${outside}/preload.png">
    <link rel="prefetch" href="${outside}/prefetch">
    <link rel="preconnect" href="${outside}">
    <link rel="icon" href="${outside}/icon.png">
    <style>
      @import url(${outside}/import.css);
      @font-face { font-family: outside; src: url(${outside}/font.woff2) }
      body { background: url(${outside}/background.png); font-family: outside }
      ul { list-style-image: url(${outside}/bullet.png) }
    </style>
    <script>${call('script')}; document.title = 'ran'</script>
    <script src="${outside}/script.js"></script>
    <script type="module">${call('module')}</script>
  </head><body onload="${call('onload')}">
    <h1>You have won</h1>
    <img src="${outside}/image.png" width="80" height="40">
    <img src="relative.png">
    <img srcset="${outside}/srcset.png 2x">
    <img src="data:," onerror="${call('onerror')}">
    <picture><source srcset="${outside}/source.png"><img></picture>
    <svg onload="${call('svg-onload')}"><image href="${outside}/svg-image.png"/><use href="${outside}/svg-use.svg#a"/>
      <script>${call('svg-script')}</script></svg>
    <video src="${outside}/video.mp4" poster="${outside}/poster.png" autoplay muted></video>
    <audio src="${outside}/audio.mp3" autoplay></audio>
    <iframe src="${outside}/frame"></iframe>
    <iframe srcdoc="&lt;script&gt;${call('inner-frame')}&lt;/script&gt;&lt;img src='${outside}/inner-image.png'&gt;"></iframe>
    <iframe src="javascript:${call('javascript-frame')}"></iframe>
    <object data="${outside}/object"></object><embed src="${outside}/embed">
    <details open ontoggle="${call('ontoggle')}"><summary>More</summary></details>
    <input autofocus onfocus="${call('onfocus')}">
    <ul><li>One</li></ul>
    <table background="${outside}/table.png"><tr><td>Cell</td></tr></table>
    <form action="${outside}/form" method="post"><input name="a" value="b"><button id="submit">Collect</button></form>
    <p><a id="link" href="${outside}/link" ping="${outside}/ping">A link</a>
      <a id="top" href="${outside}/top" target="_top">Over the whole window</a>
      <a id="blank" href="${outside}/blank" target="_blank">In a new window</a>
      <a id="javascript" href="javascript:${call('javascript-link')}">A script</a></p>
  </body></html>`
}
