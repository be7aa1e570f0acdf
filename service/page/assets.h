// The page's template and its scripts, as the build packs them.
#ifndef XC_SERVICE_PAGE_ASSETS_H_
#define XC_SERVICE_PAGE_ASSETS_H_

#include <string>

namespace xc {

extern const char kPageTemplate[];
// dagre, which lays graphs out, and the page's own script.
std::string PageScript();

}  // namespace xc

#endif  // XC_SERVICE_PAGE_ASSETS_H_
